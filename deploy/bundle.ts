/**
 * Builds the hub's modules and the packages that they import into few files below `out/hub`, once for the sources as they
 * are, and prints the path of the one to run: loading 1,300 modules one by one is half of what a start costs.
 *
 *   bun deploy/bundle.ts
 *
 * What is built runs in this tree alone, where it finds the other files of the hub and packages with native parts.
 */
import { createHash } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { filesBelow, MAIN, modulesByAddress, placed, ROOT } from './modules.ts'

const BUILT = join(ROOT, 'out/hub')
/** An entry of its own, for tests that run several hubs in one process. */
const COMMANDS = 'core/cli/run.ts'
/** Besides all files of the hub, what decides what is built. */
const BESIDES = ['package.json', 'bun.lock', 'deploy/bundle.ts', 'deploy/modules.ts']
/** Of earlier sources; a hub that still runs may load further files of what it was started from. */
const KEPT_MS = 24 * 60 * 60_000

/**
 * `split`: what is not used is not loaded. `parsed`: the entry is one file that is parsed already, so that a start takes two
 * thirds of the processor time, but the hub 14 MB more, and the build 2 s in place of 0.4. What is loaded by its address stays
 * as it is: a worker thread gets no message where its file is parsed already.
 */
const FORMS = { split: { format: 'esm', splitting: true }, parsed: { format: 'cjs', bytecode: true } } as const
type Form = keyof typeof FORMS

/** The built module of the commands, `serve` among them. */
export async function bundledCommands(): Promise<string> {
  return join(dirname(dirname(await bundledMain())), COMMANDS.replace(/\.ts$/, '.js'))
}

/** The built entry of the hub, made first where the sources changed since. */
export async function bundledMain(form: Form = 'split'): Promise<string> {
  const folder = join(BUILT, `${await fingerprint()}${form === 'split' ? '' : `-${form}`}`)
  if (!existsSync(folder)) await build(folder, form)
  return join(folder, MAIN.replace(/\.ts$/, '.js'))
}

/** Of paths, lengths and times, as reading everything would take longer than the build saves. */
async function fingerprint(): Promise<string> {
  const files = (await Promise.all(['core', 'plugins'].map(filesBelow))).flat()
  const hash = createHash('sha256').update(Bun.version)
  for (const path of [...files, ...BESIDES]) {
    const { size, mtimeMs } = statSync(join(ROOT, path))
    hash.update(`\n${path} ${size} ${mtimeMs}`)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Into a folder beside it, renamed when it is whole: another process may be building the same. */
async function build(folder: string, form: Form): Promise<void> {
  const unfinished = `${folder}-${process.pid}`
  await mkdir(dirname(folder), { recursive: true })
  const byAddress = await modulesByAddress()
  const built = (paths: readonly string[], of: Form) =>
    Bun.build({
      entrypoints: paths.map(path => join(ROOT, path)),
      root: ROOT,
      outdir: unfinished,
      target: 'bun',
      ...FORMS[of],
      external: ['pg-native', 'better-sqlite3'],
      plugins: [placedIn(folder)],
    })
  if (form === 'split') await built([MAIN, COMMANDS, ...byAddress], form)
  else await Promise.all([built([MAIN], form), built(byAddress, 'split')])
  try {
    await rename(unfinished, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
    await rm(unfinished, { recursive: true, force: true })
  }
  for (const name of await readdir(BUILT)) {
    const old = join(BUILT, name)
    if (statSync(old).mtimeMs < Date.now() - KEPT_MS) await rm(old, { recursive: true, force: true })
  }
}

function placedIn(folder: string): Bun.BunPlugin {
  return {
    name: 'placed',
    setup(build) {
      build.onLoad({ filter: /\/(?:core|plugins)\/.*\.ts$/ }, async ({ path }) => {
        const own = relative(ROOT, path)
        const text = await readFile(path, 'utf8')
        const contents = own.includes('node_modules/') ? text : placed(own, text, ROOT, folder)
        return { contents, loader: 'ts' }
      })
    },
  }
}

if (import.meta.main) process.stdout.write(`${await bundledMain()}\n`)
