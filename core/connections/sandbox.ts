import { join } from 'node:path'
import { HubError } from '../contract/errors.ts'
import type { ChildNetwork, SandboxLevel } from '../domain/spawn-policy.ts'
import { WORK_FOLDER } from '../domain/spawn-policy.ts'
import { openSocketPairs } from './descriptors.ts'
import { resolveInside } from './sandbox-command.ts'
import { probeSandbox } from './sandbox-probe.ts'
import { type EnclosedCommand, enclose, processLimit, RUNTIME_FOLDER, sandboxUid } from './sandbox-profile.ts'
import { prepareRuntime } from './sandbox-runtime.ts'
import { WorkFolders } from './work-folders.ts'

/** How one process is shut in, as the rule before every start has judged. */
export interface Confinement {
  readonly ownerId: string
  readonly ownerNumber: number
  /** The owner's servers that may have a process: the limit of processes follows from it. */
  readonly ownerStdioServers: number
  readonly network: ChildNetwork
  /** Inside. */
  readonly cwd: string
}

export interface ConfinedProgram {
  readonly serverId: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** The ladder full / uid / none: what this machine can enforce, and the way in where it is `full`. */
export class Sandbox {
  readonly level: SandboxLevel
  /** For people: what the probe saw, or what stands in the way. */
  readonly detail: string
  readonly folders: WorkFolders
  readonly #runtime: string

  constructor(found: { readonly level: SandboxLevel; readonly detail: string }, dataDir: string, runtime: string) {
    this.level = found.level
    this.detail = found.detail
    this.folders = new WorkFolders(dataDir)
    this.#runtime = runtime
  }

  /** What starts a program inside. Makes its work folder. Throws `command_not_found`, `cwd_not_found`, `cwd_forbidden`. */
  enter(program: ConfinedProgram, confinement: Confinement): EnclosedCommand {
    if (this.level !== 'full') throw new HubError('stdio_not_permitted', `There is no sandbox here: ${this.detail}`)
    const uid = sandboxUid(confinement.ownerNumber)
    const place = { ownerId: confinement.ownerId, serverId: program.serverId }
    const command = [resolveInside(program.command), ...program.args]
    const folder = this.folders.make(place, uid)
    this.folders.checkCwd(place, confinement.cwd)
    return enclose({
      ...{ uid, command, env: program.env, cwd: confinement.cwd, network: confinement.network },
      processes: processLimit(confinement.ownerStdioServers),
      mounts: [
        { from: folder, to: WORK_FOLDER, writable: true },
        { from: this.#runtime, to: RUNTIME_FOLDER },
      ],
    })
  }
}

/** Finds out what this machine can enforce. Never rejects: what cannot be found out is level `none`. */
export async function openSandbox(dataDir: string): Promise<Sandbox> {
  try {
    const makePair = openSocketPairs()
    if (!makePair) return new Sandbox({ level: 'none', detail: 'the C library cannot be called here' }, dataDir, '')
    const runtime = await prepareRuntime(join(dataDir, 'runtime'))
    return new Sandbox(await probeSandbox(dataDir, runtime, makePair), dataDir, runtime)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return new Sandbox({ level: 'none', detail: `the sandbox could not be looked at: ${why}` }, dataDir, '')
  }
}
