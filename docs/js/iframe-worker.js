// Search in pages that are opened from disk. A browser does not start a worker from a file:// address,
// so there the worker's script runs in a hidden frame. Over HTTP the browser's own workers are used.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.srcdoc = "<!DOCTYPE html>"
      this.ready = new Promise((resolve, reject) => {
        this.frame.addEventListener("load", () => {
          const scope = this.frame.contentWindow
          scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
          const script = scope.document.createElement("script")
          script.src = new URL(url, location.href).href
          script.onload = () => resolve(scope)
          script.onerror = reject
          scope.document.head.append(script)
        })
      })
      document.body.append(this.frame)
    }

    postMessage(data) {
      this.ready.then((scope) => {
        const event = new scope.MessageEvent("message", { data: scope.structuredClone(data) })
        scope.dispatchEvent(event)
      })
    }

    terminate() {
      this.frame.remove()
    }
  }
}
