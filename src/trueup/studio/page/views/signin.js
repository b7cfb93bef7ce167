// Sign-in: a browser without a key types one. A plain form: the server answers with a cookie and leads back to where the browser wanted to go.
import {html} from "../lib/html.js";
import {mount, query} from "../lib/place.js";

const TROUBLE = {used: "That link was used before, and works once. Paste the key.", failed: "That key is not valid.", wait: "Too many wrong keys came from this address. Try again in a minute."};

export function SignIn() {
  const trouble = Object.keys(TROUBLE).find((name) => query.value.has(name));
  return html`<main class="sign-in"><form method="post" action=${`${mount}/sign-in${location.hash}`}>
    <h1>trueup studio</h1>
    <p class="soft" id="sign-in-how"><code>trueup studio</code> prints the key when it starts. For a studio at a gateway, ask whoever runs it.</p>
    ${trouble && html`<p class="bad" role="alert">${TROUBLE[trouble]}</p>`}
    <input type="hidden" name="to" value=${query.value.get("to") ?? ""} />
    <input type="text" name="name" autocomplete="username" hidden />
    <label>Key <input name="key" type="password" autocomplete="current-password" required autofocus aria-describedby="sign-in-how" /></label>
    <button class="main">Open</button>
  </form></main>`;
}
