/**
 * Builds the hub's modules and the packages that they import into few files below `out/hub`, once for the sources as they
 * are, and prints the path of the one to run: loading 1,300 modules one by one is half of what a start costs.
 *
 *   bun deploy/bundle.ts
 *
 * A build runs in this tree only: there it finds the other files of the hub and packages with native parts.
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
/** Builds of earlier sources are kept this long, since a hub that still runs may load more files of its build. */
const KEPT_MS = 24 * 60 * 60_000

/**
 * `split`: modules that are not used are not loaded. `parsed`: the entry is one file of bytecode, so that a start takes two
 * thirds of the processor time; but the hub takes 14 MB more memory, and the build takes 2 s instead of 0.4 s. Modules that
 * are loaded by their address are always built as `split`: a worker thread gets no message if its file is bytecode.
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

/** Hashes paths, sizes and times of modification only; reading all files would take longer than the build saves. */
async function fingerprint(): Promise<string> {
  const files = (await Promise.all(['core', 'plugins'].map(filesBelow))).flat()
  const hash = createHash('sha256').update(Bun.version)
  for (const path of [...files, ...BESIDES]) {
    const { size, mtimeMs } = statSync(join(ROOT, path))
    hash.update(`\n${path} ${size} ${mtimeMs}`)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Builds in a folder beside the final one, and renames it when it is complete: another process may build the same. */
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
