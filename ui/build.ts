/**
 * Builds the console into `ui/dist`: scripts with a chunk for each page, one style sheet, one sprite of icons, all with a
 * digest in their name and compressed beside, and `manifest.json`, from which the hub serves them.
 *
 *   bun ui/build.ts              builds
 *   bun ui/build.ts --if-stale   builds when a source is newer than the last build
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { spriteOf } from './build/sprite.ts'

const HERE = import.meta.dirname
const DIST = join(HERE, 'dist')
const PLUGINS = join(HERE, '../plugins')

/** Facts about a build that the hub needs; paths are relative to `ui/dist`. */
export interface ConsoleManifest {
  /** Classic script that sets the theme before the first paint. */
  readonly theme: string
  readonly entry: string
  /** The module `patchbay/console`, which pages of plugins from elsewhere import. */
  readonly module: string
  /** Chunks that the entry imports at once: loaded together with it. */
  readonly preload: readonly string[]
  readonly style: string
  readonly sprite: string
  readonly icon: string
  /** Patterns of the pages' paths, such as `/servers/:ref`. */
  readonly pages: readonly string[]
}

/** Folders of the bundled plugins' pages. */
async function pluginFolders(): Promise<string[]> {
  const found: string[] = []
  for (const name of (await readdir(PLUGINS)).sort()) {
    const folder = join(PLUGINS, name, 'console')
    if (await stat(folder).catch(() => undefined)) found.push(folder)
  }
  return found
}

/** Files of the console: those below `ui` but the build's own result, and those of the bundled plugins' pages. */
async function sources(): Promise<string[]> {
  const folders = [HERE, ...(await pluginFolders())]
  const entries = await Promise.all(folders.map(folder => readdir(folder, { recursive: true, withFileTypes: true })))
  return entries
    .flat()
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .filter(path => !path.startsWith(`${DIST}`))
}

async function isStale(files: readonly string[]): Promise<boolean> {
  const modified = async (path: string): Promise<number> => (await stat(path)).mtimeMs
  const built = await modified(join(DIST, 'manifest.json')).catch(() => 0)
  if (built === 0) return true
  const times = await Promise.all([...files, join(HERE, '../bun.lock')].map(modified))
  return times.some(time => time > built)
}

/** Writes a file with a digest of its content in the name; returns the path below the build's folder. */
async function hashed(folder: string, name: string, content: string): Promise<string> {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 10)
  const extension = extname(name)
  const path = `assets/${basename(name, extension)}-${digest}${extension}`
  await writeFile(join(folder, path), content)
  return path
}

async function bundle(options: Bun.BuildConfig): Promise<Bun.BuildOutput> {
  return Bun.build({
    minify: true,
    target: 'browser',
    env: 'disable',
    define: { 'process.env.NODE_ENV': '"production"' },
    conditions: ['production'],
    naming: { entry: '[name]-[hash].[ext]', chunk: 'chunk-[hash].[ext]', asset: '[name]-[hash].[ext]' },
    ...options,
  })
}

/** Path of the artifact of one kind; `name`: the beginning of its file's name, for kinds with several. */
function pathOf(output: Bun.BuildOutput, kind: string, extension: string, name = ''): string {
  const found = output.outputs.find(
    ({ kind: its, path }) => its === kind && path.endsWith(extension) && basename(path).startsWith(name),
  )
  if (!found) throw new Error(`The build has no ${kind} ${name} with ${extension}`)
  return `assets/${basename(found.path)}`
}

/** Files with tables of places: the console's own, and those that `app/parts.ts` lists for plugins. */
async function placeTables(): Promise<string[]> {
  const list = await readFile(join(HERE, 'app/parts.ts'), 'utf8')
  const ofPlugins = [...list.matchAll(/from '(\.[^']+\/mod\.ts)'/g)].map(([, path = '']) => join(HERE, 'app', path))
  return [join(HERE, 'app/places.ts'), ...ofPlugins]
}

/** The paths in tables of places, which import the pages and so cannot be loaded here. */
async function pagePaths(tables: readonly string[]): Promise<string[]> {
  const texts = await Promise.all(tables.map(path => readFile(path, 'utf8')))
  const lists = [...texts.join('\n').matchAll(/^ +paths: \[(.*?)\]/gms)].map(([, list = '']) => list)
  return lists.flatMap(list => [...list.matchAll(/'([^']+)'/g)].map(([, path = '']) => path))
}

/** Returns the direct and indirect static imports of a built script; paths below the build's folder. */
async function importsOf(folder: string, path: string, found = new Set<string>()): Promise<readonly string[]> {
  const text = await readFile(join(folder, path), 'utf8')
  const names = new Bun.Transpiler({ loader: 'js' }).scanImports(text).filter(({ kind }) => kind === 'import-statement')
  for (const { path: name } of names) {
    const imported = `assets/${basename(name)}`
    if (found.has(imported)) continue
    found.add(imported)
    await importsOf(folder, imported, found)
  }
  return [...found]
}

/** Returns the files that every page needs: imports of the entry, and the frame, which the entry loads after the sign-in. */
async function neededAtOnce(folder: string, entry: string): Promise<readonly string[]> {
  const found = new Set(await importsOf(folder, entry))
  for (const name of await readdir(join(folder, 'assets'))) {
    const path = `assets/${name}`
    if (!(await readFile(join(folder, path), 'utf8')).includes('customElements.define("pb-frame"')) continue
    for (const one of [path, ...(await importsOf(folder, path))]) if (one !== entry) found.add(one)
  }
  return [...found]
}

/** Makes empty chunks, which the bundler leaves if only types were shared, empty modules: a file of no bytes looks lost. */
async function fillEmpty(outdir: string): Promise<void> {
  for (const name of await readdir(outdir)) {
    const path = join(outdir, name)
    if (name.endsWith('.js') && (await readFile(path, 'utf8')).trim() === '') await writeFile(path, 'export {}\n')
  }
}

async function compressAll(folder: string): Promise<void> {
  const zip = promisify(gzip)
  const brotli = promisify(brotliCompress)
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const content = await readFile(path)
    await writeFile(`${path}.gz`, await zip(content, { level: 9 }))
    const quality = { [constants.BROTLI_PARAM_QUALITY]: 11 }
    await writeFile(`${path}.br`, await brotli(content, { params: quality }))
  }
}

/** Builds into a new folder that then replaces the old one, so that a hub never serves half a build. */
async function build(files: readonly string[]): Promise<void> {
  const folder = `${DIST}.${process.pid}`
  await rm(folder, { recursive: true, force: true })
  const outdir = join(folder, 'assets')
  await mkdir(outdir, { recursive: true })
  const scripts = await bundle({
    entrypoints: [join(HERE, 'main.ts'), join(HERE, 'console.ts')],
    splitting: true,
    outdir,
  })
  const theme = await bundle({ entrypoints: [join(HERE, 'theme.ts')], format: 'iife', outdir })
  const style = await bundle({ entrypoints: [join(HERE, 'styles/console.css')], outdir })
  await fillEmpty(outdir)
  const code = await Promise.all(files.filter(path => path.endsWith('.ts')).map(path => readFile(path, 'utf8')))
  const entry = pathOf(scripts, 'entry-point', '.js', 'main-')
  const manifest: ConsoleManifest = {
    theme: pathOf(theme, 'entry-point', '.js'),
    entry,
    module: pathOf(scripts, 'entry-point', '.js', 'console-'),
    preload: await neededAtOnce(folder, entry),
    style: pathOf(style, 'asset', '.css'),
    sprite: await hashed(folder, 'sprite.svg', await spriteOf(code)),
    icon: await hashed(folder, 'favicon.svg', await readFile(join(HERE, 'favicon.svg'), 'utf8')),
    pages: await pagePaths(await placeTables()),
  }
  await compressAll(outdir)
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest))
  await rm(DIST, { recursive: true, force: true })
  await rename(folder, DIST)
}

async function run(): Promise<void> {
  const files = await sources()
  if (process.argv.includes('--if-stale') && !(await isStale(files))) return
  try {
    await build(files)
  } catch (error) {
    await rm(`${DIST}.${process.pid}`, { recursive: true, force: true })
    const details = error instanceof AggregateError ? error.errors.map(String).join('\n') : String(error)
    console.error(`The console was not built; the hub runs without it:\n${details}`)
    process.exitCode = 1
  }
}

await run()
