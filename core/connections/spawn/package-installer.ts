import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { PackageRun } from '../../domain/server/package-run.ts'
import { errorWords } from '../../domain/text/error-line.ts'
import { resolveInside } from '../sandbox/command.ts'
import { PACKAGE_FOLDER, RUNTIME_FOLDER } from '../sandbox/profile.ts'
import { permitsOf, type Registries } from '../sandbox/registries.ts'
import type { Sandbox, SandboxPolicy } from '../sandbox/sandbox.ts'
import type { FolderPlace } from '../sandbox/work-folders.ts'
import type { ChildSpec } from './child-program.ts'
import type { Child, Children } from './children.ts'
import { registryCertificates, trustEnv } from './registry-authority.ts'

const INSTALL_MS = 5 * 60_000
const POLL_MS = 200
const ANSWER_BYTES = 64 * 1024

/** An order to install a package for a server. */
export interface InstallOrder {
  readonly serverId: string
  readonly confinement: SandboxPolicy
  readonly run: PackageRun
}

/** An installed package's program, as run in the sandbox. */
export interface InstalledProgram {
  /** Path inside the sandbox; the program's own arguments follow. */
  readonly command: readonly string[]
  /** `name@version`, as the registry resolved it. */
  readonly installed: string
}

/** A task for the installer inside the sandbox. */
interface HelperOrder extends Omit<InstallOrder, 'run'> {
  readonly task: { readonly runner: string; readonly specs: readonly string[]; readonly registry: string }
  readonly registries: Registries
}

interface Running {
  readonly key: string
  readonly outcome: Promise<InstalledProgram>
  /** Returns false for each caller that no longer waits for it. */
  readonly wanted: (() => boolean)[]
}

/**
 * The first of the two steps in which a package runner's command runs: installs the packages into a folder of the
 * server's own, without its secrets and with no network but the registries. The installation stays until the command
 * names something else, so that a later start runs the same version.
 */
export class PackageInstaller {
  readonly #children: Children
  readonly #sandbox: Sandbox
  readonly #registries: () => Promise<Registries>
  readonly #authority: string | undefined
  readonly #running = new Map<string, Running>()

  /** `authority`: a file of certificates that installations trust besides those of the system; read for each of them. */
  constructor(children: Children, sandbox: Sandbox, registries: () => Promise<Registries>, authority?: string) {
    this.#children = children
    this.#sandbox = sandbox
    this.#registries = registries
    this.#authority = authority
  }

  /**
   * Returns the installation, existing or new. `wanted` is polled; when all callers return false it is aborted. `onInstalled`
   * is called with a new installation. Throws `command_not_found` without the installer, `spawn_failed` when it fails
   * or takes more than five minutes.
   */
  async ensure(
    order: InstallOrder,
    wanted: () => boolean,
    onInstalled: (what: string) => void,
  ): Promise<InstalledProgram> {
    const { runner, specs, program } = order.run
    const key = JSON.stringify([runner, specs, program ?? null])
    const known = this.#recorded(order, key)
    if (known) return known
    let running = this.#running.get(order.serverId)
    if (running && running.key !== key) {
      await running.outcome.catch(() => undefined)
      running = undefined
    }
    if (running) {
      running.wanted.push(wanted)
      return running.outcome
    }
    const all = [wanted]
    const outcome = this.#install(order, key, () => all.some(each => each())).finally(() => {
      this.#running.delete(order.serverId)
    })
    this.#running.set(order.serverId, { key, outcome, wanted: all })
    const done = await outcome
    onInstalled(done.installed)
    return done
  }

  async #install(order: InstallOrder, key: string, wanted: () => boolean): Promise<InstalledProgram> {
    const { run, confinement } = order
    if (run.runner !== 'bun') resolveInside(run.runner)
    const registries = await this.#registries()
    const registry = run.runner === 'uv' ? registries.python : registries.node
    const record = this.#recordFile(order)
    rmSync(record, { force: true })
    await this.#sandbox.packages.empty(placeOf(order))
    const { runner, specs, program } = run
    const task = { runner, specs, registry, ...(program === undefined ? {} : { program }) }
    const done = await this.#runHelper({ serverId: order.serverId, confinement, task, registries }, wanted)
    mkdirSync(dirname(record), { recursive: true, mode: 0o711 })
    writeFileSync(record, JSON.stringify({ key, ...done, at: new Date().toISOString() }), { mode: 0o600 })
    return done
  }

  /** Installs what the project in the packages' folder needs (`uv sync`). Throws as `ensure`. */
  async installProject(order: Omit<InstallOrder, 'run'>, wanted: () => boolean): Promise<void> {
    resolveInside('uv')
    const registries = await this.#registries()
    const task = { runner: 'project', specs: ['the packages of its project'], registry: registries.python }
    await this.#runHelper({ ...order, task, registries }, wanted)
  }

  /** Runs the installer in the sandbox, with the packages' folder writable. Throws `spawn_failed` with its last lines. */
  async #runHelper(order: HelperOrder, wanted: () => boolean): Promise<InstalledProgram> {
    const { serverId, confinement, task, registries } = order
    const trusted = this.#authority === undefined ? undefined : await registryCertificates(this.#authority)
    const certificates = trusted === undefined ? undefined : await this.#sandbox.placeCertificates(trusted)
    const child = this.#children.spawn({
      serverId,
      command: `${RUNTIME_FOLDER}/bun`,
      args: [`${RUNTIME_FOLDER}/sandbox-install.ts`, JSON.stringify(task)],
      env: { ...installEnv(task.registry), ...(certificates ? trustEnv(certificates) : {}) },
      carriedByMain: true,
      confinement: {
        ...confinement,
        network: 'proxy',
        packages: 'install',
        // Whatever the owner's servers may reach: registries are chosen by administrators, and may be internal.
        rights: async () => ({ networks: ['0.0.0.0/0', '::/0'], admin: true }),
        permits: permitsOf(registries.urls),
      },
    } satisfies ChildSpec)
    const done = readOutcome(await this.#outcome(child, wanted))
    if (done) return done
    const words = errorWords(this.#children.stderr(serverId).map(({ line }) => line))
    throw new HubError('spawn_failed', `Cannot install ${task.specs.join(', ')}: ${words || 'no reason was given'}`)
  }

  /** The output of the helper; it is killed when it takes too long or nobody waits for it any more. */
  async #outcome(child: Child, wanted: () => boolean): Promise<string> {
    const end = performance.now() + INSTALL_MS
    let failure: HubError | undefined
    const timer = setInterval(() => {
      if (failure) return
      if (!wanted()) failure = new HubError('stopped', 'The installation was ended, since the server is not wanted')
      else if (performance.now() > end) failure = new HubError('spawn_failed', 'The installation took over 5 minutes')
      if (failure) void child.stop()
    }, POLL_MS)
    let words = ''
    const decoder = new TextDecoder()
    try {
      await child.relay?.pump(chunk => {
        words = (words + decoder.decode(chunk, { stream: true })).slice(-ANSWER_BYTES)
      })
      await child.exited
    } finally {
      clearInterval(timer)
    }
    if (failure) throw failure
    return words
  }

  #recorded(order: InstallOrder, key: string): InstalledProgram | undefined {
    try {
      if (!existsSync(this.#sandbox.packages.path(placeOf(order)))) return undefined
      const record: unknown = JSON.parse(readFileSync(this.#recordFile(order), 'utf8'))
      return isJsonObject(record) && record.key === key ? asProgram(record) : undefined
    } catch {
      // None, or one that cannot be read: installed again.
      return undefined
    }
  }

  #recordFile(order: InstallOrder): string {
    return `${this.#sandbox.packages.path(placeOf(order))}.json`
  }
}

function placeOf({ serverId, confinement: { ownerId } }: InstallOrder): FolderPlace {
  return { ownerId, serverId }
}

function installEnv(registry: string): Record<string, string> {
  const cache = `${PACKAGE_FOLDER}/.cache`
  return {
    ...{ HOME: cache, TMPDIR: cache, UV_CACHE_DIR: cache, UV_LINK_MODE: 'copy', UV_PYTHON_DOWNLOADS: 'never' },
    ...{ UV_TOOL_DIR: `${PACKAGE_FOLDER}/tools`, UV_TOOL_BIN_DIR: `${PACKAGE_FOLDER}/bin`, UV_NO_CONFIG: '1' },
    ...{ UV_DEFAULT_INDEX: registry, BUN_INSTALL_CACHE_DIR: cache },
    // A registry on this machine is also reached through the hub.
    ...{ NO_PROXY: '', no_proxy: '' },
  }
}

function readOutcome(words: string): InstalledProgram | undefined {
  try {
    const parsed: unknown = JSON.parse(words.trim().split('\n').at(-1) ?? '')
    return isJsonObject(parsed) ? asProgram(parsed) : undefined
  } catch {
    return undefined
  }
}

function asProgram({ command, installed }: JsonObject): InstalledProgram | undefined {
  if (!Array.isArray(command) || typeof installed !== 'string') return undefined
  const words = command.filter(word => typeof word === 'string')
  // Whatever an installer reports, it names a program inside the sandbox.
  return words.length > 0 ? { command: words, installed: installed.slice(0, 300) } : undefined
}
