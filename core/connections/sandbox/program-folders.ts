import { join } from 'node:path'
import type { StoredProgram } from '../../domain/server/programs.ts'
import { type FolderPlace, WorkFolders } from './work-folders.ts'

/** The place of an owner's unpacked program. `folder`: in the data folder, for all programs of one kind. */
export interface ProgramPlace extends FolderPlace {
  readonly folder: string
}

/** Place of an owner's unpacked program. */
export function programPlace(ownerId: string, { id, folder }: Pick<StoredProgram, 'id' | 'folder'>): ProgramPlace {
  return { ownerId, serverId: id, folder }
}

/** Unpacked programs that plugins store: `<folder of the kind>/<owner>/<id>`, for all servers of the owner that run it. */
export class ProgramFolders {
  readonly #dataDir: string
  readonly #opened = new Map<string, WorkFolders>()

  constructor(dataDir: string) {
    this.#dataDir = dataDir
  }

  /** As `WorkFolders.make`. */
  make(place: ProgramPlace, uid: number): string {
    return this.#of(place.folder).make(place, uid)
  }

  path(place: ProgramPlace): string {
    return this.#of(place.folder).path(place)
  }

  /** Deletes the folder with its contents. */
  empty(place: ProgramPlace): Promise<void> {
    return this.#of(place.folder).empty(place)
  }

  /** Deletes the other programs in these folders. */
  async keepOnly(places: readonly ProgramPlace[], folders: readonly string[]): Promise<void> {
    for (const folder of folders) await this.#of(folder).keepOnly(places.filter(place => place.folder === folder))
  }

  #of(folder: string): WorkFolders {
    const opened = this.#opened.get(folder) ?? new WorkFolders(join(this.#dataDir, folder))
    this.#opened.set(folder, opened)
    return opened
  }
}
