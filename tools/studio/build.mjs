// Bundles the studio's page and its libraries into src/trueup/studio/bundle: studio.js, studio.css, the licences of the libraries, and the
// files that are served unchanged. Run it with `make bundle` after a change of the page or of package.json. With a folder as argument, the
// files are written there instead.
import {copyFile, mkdir, readFile, writeFile} from "node:fs/promises";
import {dirname, join} from "node:path";
import {fileURLToPath} from "node:url";
import {build} from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const studio = process.env.TRUEUP_STUDIO ?? join(here, "../../src/trueup/studio");
const page = join(studio, "page");
const target = process.argv[2] ?? join(studio, "bundle");
const modules = join(here, "node_modules");

// Markup is in templates, in which a minifier keeps every space. Nothing on the page depends on line breaks and indentation.
const squeeze = (text) => text.replace(/(?<=[>}`])\n\s*(?=<|\$\{)/g, "").replace(/\n\s+/g, "\n");
const squeezed = {
  name: "squeezed",
  setup: ({onLoad}) => onLoad({filter: /\/page\/.*\.js$/}, async ({path}) => ({contents: squeeze(await readFile(path, "utf8"))})),
};

// uPlot exposes all its drawing functions as properties, so a bundler keeps them. The charts draw their own lines and bars: without these
// statements, the functions that only they use are left out.
const UNUSED = ["uPlot.join = join;", "(paths.stepped = stepped);", "(paths.bars    = bars);", "(paths.spline  = monotoneCubic);"];
const trimmed = {
  name: "trimmed",
  setup: ({onLoad}) =>
    onLoad({filter: /\/uPlot\.esm\.js$/}, async ({path}) => {
      const text = await readFile(path, "utf8");
      for (const statement of UNUSED) if (!text.includes(statement)) throw new Error(`${path} has no ${statement}`);
      return {contents: UNUSED.reduce((rest, statement) => rest.replace(statement, ""), text)};
    }),
};

await mkdir(target, {recursive: true});
const {metafile} = await build({
  entryPoints: {studio: join(page, "app.js")},
  outdir: target,
  bundle: true,
  format: "esm",
  minify: true,
  charset: "utf8",
  target: "es2022",
  legalComments: "none",
  metafile: true,
  nodePaths: [modules],
  plugins: [squeezed, trimmed],
  absWorkingDir: here,
});

const names = new Set(
  Object.keys(metafile.inputs)
    .map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
    .filter(Boolean),
);
const parts = [];
for (const name of [...names].sort()) {
  const folder = join(modules, name);
  const {version} = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  parts.push(`${name} ${version}\n\n${(await licence(folder)).trim()}\n`);
}
await writeFile(join(target, "licences.txt"), parts.join(`\n${"-".repeat(72)}\n\n`));
for (const name of ["index.html", "icon.svg"]) await copyFile(join(page, name), join(target, name));

async function licence(folder) {
  for (const name of ["LICENSE", "LICENSE.md", "LICENSE.txt", "license"]) {
    try {
      return await readFile(join(folder, name), "utf8");
    } catch {
      // another name
    }
  }
  throw new Error(`${folder} has no licence file`);
}
