import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'

const OWN = 'patchbay'
/** The hub's own leaf group: a group that delegates controllers to its children may hold no process itself. */
const HUB = 'patchbay-hub'
const CONTROLLERS = ['memory', 'pids'] as const
/** Share of the memory of the machine, or of the hub's group, that one owner's sandboxed programs may use together. */
const OWNER_SHARE = 0.5

/** The texts that name the hub's own cgroup. */
export interface CgroupPlaces {
  /** `/proc/self/cgroup` and `/proc/self/mountinfo`, as text. */
  readonly membership: string
  readonly mounts: string
}

/**
 * The folder of the hub's own group in the cgroup v2 hierarchy, as this process sees it. Undefined where there is none,
 * or where the mount does not show it.
 */
export function ownGroup({ membership, mounts }: CgroupPlaces): string | undefined {
  const path = /^0::(\/.*)$/m.exec(membership)?.[1]
  if (path === undefined) return undefined
  for (const line of mounts.split('\n')) {
    const [before = '', after = ''] = line.split(' - ')
    if (!after.startsWith('cgroup2 ')) continue
    // Blanks in paths are written as octal numbers; a hierarchy with such a path is not used.
    const [, , , root = '', point = ''] = before.split(' ')
    if (root === '/') return join(point, path)
    if (path === root || path.startsWith(`${root}/`)) return join(point, path.slice(root.length))
  }
  return undefined
}

/** Limits memory and processes of all sandboxed programs of one owner together, by groups of cgroup v2. */
export class SandboxCgroups {
  readonly #folder: string
  readonly #ownerBytes: number

  private constructor(folder: string, ownerBytes: number) {
    this.#folder = folder
    this.#ownerBytes = ownerBytes
  }

  /** Undefined where the hierarchy lacks one of the controllers, or forbids new groups; then nothing is changed. */
  static open(group: string | undefined = findOwnGroup()): SandboxCgroups | undefined {
    if (group === undefined) return undefined
    try {
      const parent = shareControllers(group)
      if (parent === undefined) return undefined
      const folder = join(parent, OWN)
      mkdirSync(folder, { recursive: true })
      enable(folder)
      for (const left of readdirSync(folder, { withFileTypes: true }))
        if (left.isDirectory()) tryRemoving(folder, left.name)
      return new SandboxCgroups(folder, Math.floor(memoryOf(parent) * OWNER_SHARE))
    } catch {
      // Read-only, as in most containers, or another process manages this part of the hierarchy.
      return undefined
    }
  }

  /**
   * Moves a process into its owner's group, which its descendants inherit, and sets the group's limits again. Throws
   * the system's error.
   */
  place(pid: number, uid: number, processes: number): void {
    const owner = join(this.#folder, `owner-${uid}`)
    mkdirSync(owner, { recursive: true })
    writeFileSync(join(owner, 'memory.max'), String(this.#ownerBytes))
    writeFileSync(join(owner, 'pids.max'), String(processes))
    writeFileSync(join(owner, 'cgroup.procs'), String(pid))
  }

  /** True when a process is in that owner's group, and the group has its limits. */
  holds(pid: number, uid: number): boolean {
    const owner = join(this.#folder, `owner-${uid}`)
    const members = readFileSync(join(owner, 'cgroup.procs'), 'latin1').split('\n')
    const limited = CONTROLLERS.every(name => readFileSync(join(owner, `${name}.max`), 'latin1').trim() !== 'max')
    return limited && members.includes(String(pid))
  }

  /** Removes the groups without processes. */
  dispose(): void {
    for (const entry of readdirSync(this.#folder, { withFileTypes: true })) {
      if (entry.isDirectory()) tryRemoving(this.#folder, entry.name)
    }
  }
}

function findOwnGroup(): string | undefined {
  try {
    return ownGroup({
      membership: readFileSync('/proc/self/cgroup', 'utf8'),
      mounts: readFileSync('/proc/self/mountinfo', 'utf8'),
    })
  } catch {
    return undefined
  }
}

/** The group below which groups with both controllers can be created; undefined where there is none. */
function shareControllers(group: string): string | undefined {
  if (!CONTROLLERS.every(name => words(join(group, 'cgroup.controllers')).includes(name))) return undefined
  // After a restart of the hub in the same session or container, it is in its own leaf already.
  if (!group.endsWith(`/${HUB}`)) {
    // The root of the whole hierarchy, which has no type, may hold processes beside groups.
    const root = read(join(group, 'cgroup.type')) === undefined
    if (!root && !moveIntoLeaf(group)) return undefined
    enable(group)
    return group
  }
  const parent = group.slice(0, -HUB.length - 1)
  enable(parent)
  return parent
}

/**
 * Moves the hub into a leaf of its own, so that its group may delegate controllers. Only where all processes in it are
 * the hub's: a group with others (a login session) belongs to another manager. The first process of a container, which
 * starts the hub, moves with it.
 */
function moveIntoLeaf(group: string): boolean {
  const members = words(join(group, 'cgroup.procs')).map(Number)
  const ours = new Set([process.pid, ...(process.ppid === 1 ? [1] : [])])
  if (members.some(pid => !ours.has(pid))) return false
  const leaf = join(group, HUB)
  mkdirSync(leaf, { recursive: true })
  for (const pid of members) writeFileSync(join(leaf, 'cgroup.procs'), String(pid))
  return true
}

function enable(folder: string): void {
  const control = join(folder, 'cgroup.subtree_control')
  const missing = CONTROLLERS.filter(name => !words(control).includes(name))
  if (missing.length > 0) writeFileSync(control, missing.map(name => `+${name}`).join(' '))
}

/** In bytes: the limit of the group or of its nearest ancestor with one, otherwise the machine's memory. */
function memoryOf(group: string): number {
  const limit = Number(read(join(group, 'memory.max')))
  return Number.isFinite(limit) && limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}

function words(file: string): readonly string[] {
  return (read(file) ?? '').split(/\s+/).filter(Boolean)
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

function tryRemoving(folder: string, name: string): void {
  try {
    rmdirSync(join(folder, name))
  } catch {
    // A process is still in it.
  }
}
