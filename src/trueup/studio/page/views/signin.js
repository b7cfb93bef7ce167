// Sign-in: asks for a key. It is a plain form: the server answers with a cookie and redirects to the page that was requested.
import {html} from "../lib/html.js";
import {mount, query} from "../lib/place.js";

const TROUBLE = {used: "That link works only once and was already used. Paste the key.", failed: "That key is not valid.", wait: "Too many wrong keys came from this address. Try again in a minute."};

export function SignIn() {
  const trouble = Object.keys(TROUBLE).find((name) => query.value.has(name));
  return html`<main class="sign-in"><form method="post" action=${`${mount}/sign-in${location.hash}`}>
    <h1>trueup studio</h1>
    <p class="soft" id="sign-in-how"><code>trueup studio</code> prints the key when it starts. If the studio runs in a gateway, ask its administrator.</p>
    ${trouble && html`<p class="bad" role="alert">${TROUBLE[trouble]}</p>`}
    <input type="hidden" name="to" value=${query.value.get("to") ?? ""} />
    <input type="text" name="name" autocomplete="username" hidden />
    <label>Key <input name="key" type="password" autocomplete="current-password" required autofocus aria-describedby="sign-in-how" /></label>
    <button class="main">Open</button>
  </form></main>`;
}
