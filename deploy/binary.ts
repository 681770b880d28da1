/**
 * Builds the hub as one program that needs nothing beside it: Bun, the hub, its worker threads, the bundled plugins and
 * the console. Writes `out/patchbay-linux-x64` and `out/patchbay-linux-arm64`.
 *
 *   bun run binary                the program for this machine's processor
 *   bun run binary x64 arm64      these; Bun fetches the runtime of another processor than this machine's
 *
 * The program holds the files of this tree at the same paths below {@link TREE}, so that `import.meta.url` and
 * `import.meta.dirname` still lead from one file to another. A script's `.ts` becomes `.js`.
 */
import { spawnSync } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { filesBelow, MAIN, modulesByAddress, placed, ROOT } from './modules.ts'

/**
 * The path of this tree inside the program. It is a folder below Bun's root, since Bun gives wrong names to files directly in
 * its root.
 */
const TREE = `/$bunfs/root/${basename(ROOT)}`
const PROCESSORS = ['x64', 'arm64'] as const
/** Bun runs these files in the sandbox, which sees nothing of the hub's program: they are files, not modules. */
const FOR_SANDBOX = 'core/connections/sandbox/inside'
/** Imports files for their content alone, which also keeps the bundler from leaving them out. */
function holding(files: readonly string[]): string {
  const imports = files.map(
    (path, n) => `import file${n} from ${JSON.stringify(join(ROOT, path))} with { type: 'file' }`,
  )
  const names = files.map((_, n) => `file${n}`)
  return `${imports.join('\n')}\nObject.defineProperty(globalThis, Symbol('files'), { value: [${names}] })\n`
}

function tree(processor: string, files: readonly string[]): Bun.BunPlugin {
  const held = new Set(files)
  return {
    name: 'tree',
    setup(build) {
      // The package's own entry looks for its native part in node_modules, when it runs.
      const sqlite = join(ROOT, `node_modules/better-sqlite3/lib/linux-${processor}.js`)
      build.onResolve({ filter: /^better-sqlite3$/ }, () => ({ path: sqlite }))
      build.onLoad({ filter: /\/(?:core|plugins)\/.*\.ts$/ }, async ({ path }) => {
        const own = relative(ROOT, path)
        const text = await readFile(path, 'utf8')
        if (held.has(own)) return { contents: text, loader: 'file' }
        if (own.includes('node_modules/')) return { contents: text, loader: 'ts' }
        if (own !== MAIN) return { contents: placed(own, text, TREE), loader: 'ts' }
        return { contents: holding(files) + placed(own, text, TREE), loader: 'ts' }
      })
    },
  }
}

async function build(processor: string): Promise<void> {
  const [modules, console_, programs] = await Promise.all([
    modulesByAddress(),
    filesBelow('ui/dist'),
    filesBelow(FOR_SANDBOX),
  ])
  const outfile = join(ROOT, `out/patchbay-linux-${processor}`)
  await mkdir(dirname(outfile), { recursive: true })
  await Bun.build({
    entrypoints: [MAIN, ...modules].map(path => join(ROOT, path)),
    root: dirname(ROOT),
    target: 'bun',
    // The program contains bytecode, so that a start takes half of the processor time; it is 14 MB larger.
    bytecode: true,
    format: 'esm',
    naming: { asset: '[dir]/[name].[ext]' },
    // This optional package is imported also where it is missing.
    external: ['pg-native'],
    plugins: [tree(processor, ['mcp_settings.json', ...programs, ...console_])],
    compile: { target: `bun-linux-${processor}` as Bun.Build.CompileTarget, outfile },
  })
  process.stdout.write(`${outfile}\n`)
}

const wanted = process.argv.slice(2)
const unknown = wanted.find(name => !PROCESSORS.some(known => known === name))
if (unknown !== undefined) {
  process.stderr.write(`Cannot build for "${unknown}": choose from ${PROCESSORS.join(', ')}\n`)
  process.exit(2)
}
if (spawnSync(process.execPath, [join(ROOT, 'ui/build.ts'), '--if-stale'], { stdio: 'inherit' }).status !== 0) {
  process.exit(1)
}
for (const processor of wanted.length > 0 ? wanted : [process.arch]) await build(processor)
