import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { watchPlace } from '../../config/watch-place.ts'
import { HubError } from '../../contract/errors.ts'
import { cwdForbidden, WORK_FOLDER } from '../../domain/server/spawn-policy.ts'
import { statsOf } from '../stats-of.ts'

const RM = '/bin/rm'

/** The owner of one folder, and what it is of. */
export interface FolderPlace {
  readonly ownerId: string
  /** A server's id, or that of an unpacked program. */
  readonly serverId: string
}

/**
 * Folders of sandboxed servers, `<owner>/<server>` below a root: mode 0700, with their owner's uid. Those above belong
 * to the hub and can be searched, not listed; so does the hub's note beside a folder, in `<server>.json`.
 */
export class WorkFolders {
  readonly #root: string
  readonly #inPlace: () => boolean

  constructor(root: string) {
    this.#root = root
    this.#inPlace = watchPlace(dirname(root))
  }

  /** Creates the folder if missing, and returns its real path. Throws `storage_unavailable` without the data folder. */
  make(place: FolderPlace, uid: number): string {
    if (!this.#inPlace()) throw new HubError('storage_unavailable', 'The data folder was moved, removed or replaced')
    const owner = join(this.#root, checked(place.ownerId))
    mkdirSync(owner, { recursive: true, mode: 0o711 })
    for (const folder of [this.#root, owner]) chmodSync(folder, 0o711)
    const path = this.path(place)
    // Only the hub can create a file with this name, so that the modes below are those of the folder itself.
    mkdirSync(path, { recursive: true, mode: 0o700 })
    chmodSync(path, 0o700)
    if (lstatSync(path).uid !== uid) chownSync(path, uid, uid)
    return path
  }

  path({ ownerId, serverId }: FolderPlace): string {
    return join(this.#root, checked(ownerId), checked(serverId))
  }

  /**
   * Checks a working directory as the sandbox will see it. Throws `cwd_forbidden` when a link leads out of the folder,
   * `cwd_not_found` when it does not exist.
   */
  checkCwd(place: FolderPlace, inside: string): void {
    const found = this.#follow(place, inside)
    if (found === 'missing') {
      throw new HubError('cwd_not_found', `The working directory "${inside}" does not exist in the server’s own folder`)
    }
    if (found === 'outside') throw cwdForbidden(inside)
  }

  /** True when a link in this path, as far as it exists, leads out of the folder. */
  leaves(place: FolderPlace, inside: string): boolean {
    return this.#follow(place, inside) === 'outside'
  }

  /** Deletes the folder with its contents. */
  async empty(place: FolderPlace): Promise<void> {
    await this.#remove(this.path(place))
  }

  /** Deletes the folders of servers that no longer exist. */
  async keepOnly(places: readonly FolderPlace[]): Promise<void> {
    const kept = new Set(places.map(({ ownerId, serverId }) => `${ownerId}/${serverId}`))
    for (const owner of entries(this.#root)) {
      for (const server of entries(join(this.#root, owner))) {
        if (!kept.has(`${owner}/${server.replace(/\.json$/, '')}`)) await this.#remove(join(this.#root, owner, server))
      }
    }
  }

  /** Deletes the folders of a server under every owner it had. */
  async remove(serverId: string): Promise<void> {
    for (const owner of entries(this.#root)) {
      const path = join(this.#root, owner, checked(serverId))
      await this.#remove(path)
      await this.#remove(`${path}.json`)
    }
  }

  #follow(place: FolderPlace, inside: string): 'inside' | 'outside' | 'missing' {
    const made = this.path(place)
    if (!statsOf(made, 'themselves')) return 'missing'
    const folder = realpathSync(made)
    let at = folder
    for (const part of inside.slice(WORK_FOLDER.length).split('/').filter(Boolean)) {
      at = join(at, part)
      const stats = statsOf(at, 'themselves')
      if (!stats) return 'missing'
      if (!stats.isSymbolicLink()) continue
      try {
        at = realpathSync(at)
      } catch {
        // The link's target is missing on this machine; inside the sandbox it may be something else.
        return 'outside'
      }
      if (at !== folder && !at.startsWith(`${folder}/`)) return 'outside'
    }
    return statsOf(at, 'themselves')?.isDirectory() ? 'inside' : 'missing'
  }

  async #remove(path: string): Promise<void> {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return rm(path, { force: true })
    // A server decides what is in here. The runtime's own rm takes a minute of one of its few threads for a folder
    // nested 5,000 deep, in quadratic time; this one follows no link either, and continues should the hub end.
    const { exited } = Bun.spawn([RM, '-rf', '--', path], { stdio: ['ignore', 'ignore', 'ignore'], env: {}, cwd: '/' })
    if ((await exited) !== 0) throw new Error(`${RM} could not remove ${path}`)
  }
}

function entries(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function checked(id: string): string {
  if (/^[\w-]{1,100}$/.test(id)) return id
  throw new HubError('internal', 'A work folder was asked for by something that is no id')
}
