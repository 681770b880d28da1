/**
 * Runs inside a sandbox that reaches package registries and nothing else: installs packages into the working directory
 * and prints on its last line what was installed and how to run it. The hub's own runtime runs it; it imports nothing
 * of the hub.
 *
 * Argument: JSON `{runner, specs, program?, registry}`; uv gets the rest by its variables.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface Order {
  readonly runner: 'npm' | 'bun' | 'uv' | 'project'
  readonly specs: readonly string[]
  readonly program?: string
  readonly registry: string
}

const order = JSON.parse(process.argv[2] ?? '') as Order
const folder = process.cwd()
const cache = join(folder, '.cache')

function call(command: readonly string[]): string {
  const done = Bun.spawnSync([...command], {
    // The last line of stdout must be this program's own; errors go to the server's log.
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (done.exitCode !== 0) throw new Error(`${command[0]} ended with exit code ${done.exitCode}`)
  return done.stdout.toString()
}

function json(path: string): Record<string, unknown> {
  return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
}

function installNode(): { command: string[]; installed: string } {
  const { runner, specs, program, registry } = order
  writeFileSync(join(folder, 'package.json'), '{"private": true}\n')
  if (runner === 'npm') {
    const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--no-progress', '--loglevel=error']
    call(['npm', 'install', `--registry=${registry}`, `--cache=${cache}`, ...quiet, '--', ...specs])
  } else {
    call(['/opt/patchbay/bun', 'add', `--registry=${registry}`, `--cache-dir=${cache}`, '--no-progress', ...specs])
  }
  const [name = ''] = Object.keys((json(join(folder, 'package.json')).dependencies ?? {}) as object)
  const manifest = json(join(folder, 'node_modules', name, 'package.json'))
  const path = join(folder, 'node_modules/.bin', program ?? programOf(name, manifest.bin))
  if (!existsSync(path)) throw new Error(`${name} has no program ${program ?? ''}`)
  const command = runner === 'bun' && !existsSync('/usr/bin/node') ? ['/opt/patchbay/bun', path] : [path]
  return { command, installed: `${name}@${manifest.version}` }
}

/** The only program of a package, or the one with the package's name. */
function programOf(name: string, bin: unknown): string {
  const own = name.replace(/^@[^/]*\//, '')
  if (typeof bin !== 'object' || bin === null) return own
  const names = Object.keys(bin)
  const [only] = names
  return names.length === 1 && only !== undefined ? only : own
}

function installPython(): { command: string[]; installed: string } {
  const { specs, program = '' } = order
  const [spec = '', ...besides] = specs
  call(['uv', 'tool', 'install', '--quiet', ...besides.flatMap(more => ['--with', more]), spec])
  const path = join(folder, 'bin', program)
  if (!existsSync(path)) throw new Error(`${spec} has no program ${program}`)
  const [installed = spec] = call(['uv', 'tool', 'list', '--quiet']).split('\n')
  return { command: [path], installed: installed.replace(' v', '@') }
}

/** Installs the dependencies of a project in the folder into its own environment; the project itself is run from its files. */
function installProject(): { command: string[]; installed: string } {
  call(['uv', 'sync', '--quiet', '--no-dev', '--no-install-project', '--directory', folder])
  return { command: ['uv'], installed: 'the packages of its project' }
}

const INSTALL = { npm: installNode, bun: installNode, uv: installPython, project: installProject }

try {
  mkdirSync(cache, { recursive: true })
  const result = INSTALL[order.runner]()
  rmSync(cache, { recursive: true, force: true })
  process.stdout.write(`\n${JSON.stringify(result)}\n`)
} catch (error) {
  // One line, after the installer's own output.
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
