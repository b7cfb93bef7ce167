// The shell: the bar with the views, the view that the URL names, help and messages.
import "./style.css";
import "./views/try.css";
import "./views/verdicts.css";
import "./views/contracts.css";
import "./views/runs.css";
import "./views/live.css";
import "./views/tune.css";
import {render, signal, useEffect, useErrorBoundary} from "./vendor.js";
import {html} from "./lib/html.js";
import {go, link, mount, steps} from "./lib/place.js";
import {listed, useKeys} from "./lib/keys.js";
import {useLoaded, Failed} from "./lib/load.js";
import {Dialog, Key, Messages} from "./lib/parts.js";
import {about} from "./lib/about.js";
import {SignIn} from "./views/signin.js";
import {Try} from "./views/try.js";
import {Verdicts} from "./views/verdicts.js";
import {Contracts} from "./views/contracts.js";
import {Runs} from "./views/runs.js";
import {Live} from "./views/live.js";
import {Tune} from "./views/tune.js";

const VIEWS = [
  ["try", "Try", Try],
  ["verdicts", "Verdicts", Verdicts],
  ["contracts", "Contracts", Contracts],
  ["runs", "Runs", Runs],
  ["live", "Live", Live],
  ["tune", "Tune", Tune],
];

const helping = signal(false);

function Help() {
  return html`<${Dialog} title="Keyboard shortcuts" onClose=${() => (helping.value = false)}>
    <dl class="shortcuts">${listed().map(([sentence, keys]) => html`<div key=${sentence}><dt>${keys.map((key) => html`<${Key} key=${key}>${key}<//>`)}</dt><dd>${sentence}</dd></div>`)}</dl>
    <p class="soft">In an editor, Tab indents. Press Esc, then Tab, to leave it.</p>
  <//>`;
}

function Bar({view}) {
  return html`<header class="bar">
    <a class="brand" href=${link("try")}>trueup</a>
    <nav aria-label="Views">${VIEWS.map(([id, title]) => html`<a key=${id} href=${link(id)} aria-current=${id === view ? "page" : undefined}>${title}</a>`)}</nav>
    <div class="right" id="bar-actions"></div>
    ${about.value.gateway && html`<form method="post" action=${`${mount}/sign-out`}><button class="plain" title=${`Signed in as ${about.value.name} (${about.value.role})`}>Sign out</button></form>`}
    <button type="button" class="plain" title="Keyboard shortcuts" aria-label="Keyboard shortcuts" onClick=${() => (helping.value = true)}><${Key}>?<//></button>
  </header>`;
}

/** A view. If it fails, it says so and the bar stays: another view, or a second try, may work. */
function View({is: Shown}) {
  const [error, again] = useErrorBoundary((failure) => reportError(failure));
  if (!error) return html`<${Shown} />`;
  return html`<div class="note bad" role="alert"><p>This view failed: ${String(error.message ?? error)}</p>
    <p class="soft">This is a bug in the studio. Your stored data is not affected.</p>
    <p><button type="button" onClick=${again}>Try again</button></p></div>`;
}

function Shell() {
  const view = steps.value[0] ?? "try";
  const known = VIEWS.find(([id]) => id === view);
  const {data, failure} = useLoaded(view === "sign-in" ? null : "/about");
  if (data) about.value = data;
  useEffect(() => {
    document.title = known ? `${known[1]} · trueup studio` : "trueup studio";
  }, [view]);
  const jumps = Object.fromEntries(VIEWS.map(([id, title], at) => [String(at + 1), [`go to ${title}`, () => go(link(id))]]));
  useKeys({...jumps, "?": ["show this list", () => (helping.value = true)]});
  if (view === "sign-in") return html`<${SignIn} />`;
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <${Bar} view=${view} />
    <main id="main" tabindex="-1" data-ready=${data ? "" : undefined}>
      <h1 class="hidden">${known?.[1] ?? "Not found"}</h1>
      ${failure ? html`<${Failed} failure=${failure} />` : data && (known ? html`<${View} is=${known[2]} key=${view} />` : html`<p class="note">There is no page at this address. <a href=${link("try")}>Go to Try</a></p>`)}
    </main>
    ${helping.value && html`<${Help} />`}
    <${Messages} />`;
}

// A file that is dropped outside its target must not replace the page.
for (const name of ["dragover", "drop"]) {
  addEventListener(name, (event) => {
    if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
    event.dataTransfer.dropEffect = "none";
    event.preventDefault();
  });
}

render(html`<${Shell} />`, document.getElementById("app"));

export {Marked} from "./lib/marked.js"; // the tests draw it alone
export {html, render};
