import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { HubError } from '../../contract/errors.ts'
import type { AddressRights } from '../../domain/address.ts'
import type { BytesInFlight } from '../../domain/byte-account.ts'
import type { StoredProgram } from '../../domain/server/programs.ts'
import type { ChildNetwork, SandboxLevel } from '../../domain/server/spawn-policy.ts'
import { WORK_FOLDER } from '../../domain/server/spawn-policy.ts'
import { openEgress } from '../../outbound/egress.ts'
import { createLookup } from '../../outbound/lookup.ts'
import { faultName } from '../../transport-kit/wire-error.ts'
import { openSocketPairs } from '../process/descriptors.ts'
import { SandboxCgroups } from './cgroup.ts'
import { resolveInside, sandboxLost } from './command.ts'
import { ExitShare } from './exit-share.ts'
import { type AroundProbe, missingStages, type ProbeResult, plainObstacle, probeSandbox } from './probe.ts'
import {
  type EnclosedCommand,
  enclose,
  PACKAGE_FOLDER,
  processLimit,
  RUNTIME_FOLDER,
  runtimeMounts,
  sandboxUid,
} from './profile.ts'
import { ProgramFolders, programPlace } from './program-folders.ts'
import { placeCertificates, prepareRuntime, type Runtime } from './runtime.ts'
import { type FolderPlace, WorkFolders } from './work-folders.ts'

const EXITS = 'egress'
const EXIT_SOCKET = '/run/patchbay/egress.sock'
const PROXY_PORT = 3128
const PROXY_URL = `http://127.0.0.1:${PROXY_PORT}`
/** In both letter cases, as programs differ; Node reads them only with the option for it. */
const PROXY_ENV = {
  ...{ HTTP_PROXY: PROXY_URL, HTTPS_PROXY: PROXY_URL, http_proxy: PROXY_URL, https_proxy: PROXY_URL },
  ...{ NO_PROXY: 'localhost,127.0.0.1,::1', no_proxy: 'localhost,127.0.0.1,::1', NODE_USE_ENV_PROXY: '1' },
}

/** The limits of one sandboxed process, decided by the policy before every start. */
export interface SandboxPolicy {
  readonly ownerId: string
  readonly ownerNumber: number
  /** Number of the owner's servers that may have a process, from which the limit of processes follows. */
  readonly ownerStdioServers: number
  readonly network: ChildNetwork
  /** Path inside the sandbox. */
  readonly cwd: string
  /** Addresses to which network "proxy" may connect; called for each connection. */
  readonly rights: () => Promise<AddressRights>
  /** Restricts network "proxy" to some hosts. */
  readonly permits?: (host: string, port: number) => boolean
  /** `install`: the packages' folder replaces the work folder; `use`: both are mounted, the packages read-only. */
  readonly packages?: 'install' | 'use'
  /** The unpacked program that is mounted in place of the server's own packages. */
  readonly program?: Pick<StoredProgram, 'id' | 'folder'>
  /** See `Enclosure`. */
  readonly ownStreams?: boolean
}

/** The program to run in the sandbox, with its arguments and variables. */
export interface ConfinedProgram {
  readonly serverId: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

type Accounts = Pick<BytesInFlight, 'user'>

/** Without the level `full` nothing is started inside. */
const NOWHERE: Runtime = { folder: '', program: '', name: '' }

/** The command of one program in the sandbox, with its outbound proxy. */
export interface SandboxLaunch extends EnclosedCommand {
  /** Closes the program's proxy. Call it once the program has ended, or could not be started. */
  close(): void
}

/** The sandbox of this machine: its level (`full`, `uid` or `none`), and with `full` the launch of programs in it. */
export class Sandbox {
  readonly level: SandboxLevel
  /** For people: what the probe found, or why the level is lower. */
  readonly detail: string
  /** For people: protections missing despite the level. Fixed sentences, without paths or names of this machine. */
  readonly notes: readonly string[]
  readonly folders: WorkFolders
  /** Folders of installed packages. */
  readonly packages: WorkFolders
  readonly programs: ProgramFolders
  readonly #runtime: Runtime
  readonly #exits: string
  readonly #lookup = createLookup()
  readonly #bytes: Accounts
  readonly #shares = new Map<string, ExitShare>()
  readonly #cgroups: SandboxCgroups | undefined

  constructor(
    found: ProbeResult,
    dataDir: string,
    bytes: Accounts,
    runtime: Runtime = NOWHERE,
    cgroups?: SandboxCgroups,
  ) {
    this.#bytes = bytes
    this.level = found.level
    this.detail = found.detail
    this.notes = found.notes
    this.#cgroups = cgroups
    this.folders = new WorkFolders(join(dataDir, 'owners'))
    this.packages = new WorkFolders(join(dataDir, 'packages'))
    this.programs = new ProgramFolders(dataDir)
    this.#runtime = runtime
    this.#exits = join(dataDir, EXITS)
  }

  /** The current level: `lost` where the programs that make the sandbox were removed since the start of the hub. */
  get present(): SandboxLevel | 'lost' {
    return this.level === 'full' && missingStages().length > 0 ? 'lost' : this.level
  }

  /**
   * Builds the command that starts a program inside, and creates its work folder. Throws `command_not_found`,
   * `cwd_not_found`, `cwd_forbidden`, `sandbox_lost`.
   */
  enter(program: ConfinedProgram, confinement: SandboxPolicy): SandboxLaunch {
    if (this.level !== 'full') throw new HubError('stdio_not_permitted', `There is no sandbox here: ${this.detail}`)
    const missing = missingStages()
    if (missing.length > 0) throw sandboxLost(program.command, `${missing.join(', ')} is missing`)
    const uid = sandboxUid(confinement.ownerNumber)
    const place = { ownerId: confinement.ownerId, serverId: program.serverId }
    const command = [resolveInside(program.command), ...program.args]
    const { mounts, cwd } = this.#places(place, uid, confinement)
    const exit = confinement.network === 'proxy' ? this.#openExit(uid, confinement) : undefined
    const enclosed = enclose({
      ...{ uid, cwd, network: confinement.network },
      command: [...(exit ? exit.prefix : []), ...command],
      env: { ...(exit ? exit.env : {}), ...program.env },
      processes: processLimit(confinement.ownerStdioServers),
      mounts: [...mounts, ...runtimeMounts(this.#runtime), ...(exit ? [exit.mount] : [])],
      ownStreams: confinement.ownStreams === true,
    })
    return { ...enclosed, close: () => exit?.close() }
  }

  /** Moves a process started by `enter` into its owner's cgroup, if there are cgroups. Throws the system's error. */
  limitMemory(pid: number, { ownerNumber, ownerStdioServers }: SandboxPolicy): void {
    this.#cgroups?.place(pid, sandboxUid(ownerNumber), processLimit(ownerStdioServers))
  }

  /** Shows certificates (PEM) to every program inside. Returns their path there. */
  placeCertificates(pem: string): Promise<string> {
    return placeCertificates(this.#runtime, pem)
  }

  /** Removes the groups of owners whose processes have ended. */
  dispose(): void {
    this.#cgroups?.dispose()
  }

  #places(place: FolderPlace, uid: number, { cwd, packages, program }: SandboxPolicy) {
    const packed = program === undefined ? undefined : programPlace(place.ownerId, program)
    if (packages === 'install') {
      const from = packed ? this.programs.make(packed, uid) : this.packages.make(place, uid)
      return { mounts: [{ from, to: PACKAGE_FOLDER, writable: true }], cwd: PACKAGE_FOLDER }
    }
    const work = { from: this.folders.make(place, uid), to: WORK_FOLDER, writable: true }
    this.folders.checkCwd(place, cwd)
    const from = packed ? this.programs.path(packed) : this.packages.path(place)
    const installed = packages === 'use' ? [{ from, to: PACKAGE_FOLDER }] : []
    return { mounts: [work, ...installed], cwd }
  }

  /** An outbound proxy in the hub, for one process. */
  #openExit(uid: number, { ownerId, rights, permits }: SandboxPolicy) {
    const owner = this.#shares.get(ownerId) ?? new ExitShare(this.#bytes.user(ownerId))
    this.#shares.set(ownerId, owner)
    const path = join(this.#exits, randomBytes(6).toString('hex'))
    const egress = openEgress({ path, uid, rights, lookup: this.#lookup, owner, ...(permits ? { permits } : {}) })
    // It starts in the server's folder, whose .env and bunfig.toml are for the program only.
    const bun = [`${RUNTIME_FOLDER}/bun`, '--no-env-file', '--config=/dev/null']
    const helper = [...bun, `${RUNTIME_FOLDER}/sandbox-egress.ts`]
    return {
      prefix: [...helper, String(PROXY_PORT), EXIT_SOCKET],
      env: PROXY_ENV,
      mount: { from: path, to: EXIT_SOCKET },
      close: () => egress.close(),
    }
  }
}

/**
 * Finds out what this machine can enforce. Never rejects: if that fails, the level is `none`. `bytes`: the account for
 * the buffered bytes of the programs. `around`: default, the probe runs.
 */
export async function openSandbox(
  dataDir: string,
  bytes: Accounts,
  around: AroundProbe = probe => probe(),
): Promise<Sandbox> {
  // Before anything is prepared: a copy of the runtime has 100 MB.
  const obstacle = plainObstacle()
  const none = (detail: string) => new Sandbox({ level: 'none', detail, notes: [] }, dataDir, bytes)
  if (obstacle !== undefined) return none(obstacle)
  try {
    const makePair = openSocketPairs()
    if (!makePair) return none('the C library cannot be called here')
    // Sockets of an earlier run.
    await rm(join(dataDir, EXITS), { recursive: true, force: true })
    const runtime = await prepareRuntime(join(dataDir, 'runtime'))
    const cgroups = SandboxCgroups.open()
    const result = await around(() => probeSandbox(dataDir, runtime, { makePair, cgroups }))
    return new Sandbox(result, dataDir, bytes, runtime, cgroups)
  } catch (error) {
    return none(`the sandbox could not be probed (${faultName(error)})`)
  }
}
