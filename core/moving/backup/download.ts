import { randomUUID } from 'node:crypto'
import { type FileHandle, open, readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { SettingsFile } from '../../config/settings-file.ts'
import { HubError } from '../../contract/errors.ts'
import { openStoreReadOnly } from '../../store/open.ts'
import { backUp } from './backup.ts'

/** Backups for download. */
export interface BackupDownloads {
  /** A new backup. Throws `overloaded` while another one is made or downloaded, and the errors of the database. */
  make(): Promise<ReadableStream<Uint8Array>>
}

/** The places of everything that is backed up. */
export interface BackupPlaces {
  readonly dataDir: string
  readonly databaseUrl?: string | undefined
  readonly settings: Pick<SettingsFile, 'path' | 'state'>
}

const CHUNK_BYTES = 256 * 1024
/** Longest time for a download, since its file takes room on the disk. */
const LONGEST_MS = 30 * 60_000

/**
 * The file is written whole before the first byte is sent: rows that are read as slowly as somebody downloads would keep
 * a transaction of the database open. It has no name while it is sent, so that nothing is left of it.
 */
export function createBackupDownloads({ dataDir, databaseUrl, settings }: BackupPlaces): BackupDownloads {
  let busy = false
  return {
    async make() {
      if (busy) {
        throw new HubError('overloaded', 'Another backup is being made or downloaded', { retryAfterSeconds: 30 })
      }
      busy = true
      try {
        return streamOf(await write(), () => {
          busy = false
        })
      } catch (error) {
        busy = false
        throw error
      }
    },
  }

  async function write(): Promise<FileHandle> {
    const place = { dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) }
    const store = await openStoreReadOnly(place)
    if (!store) throw new HubError('storage_unavailable', 'There is no database to back up')
    const path = join(dataDir, `backup-${randomUUID()}.part`)
    let file: FileHandle | undefined
    try {
      const { path: name, state } = settings
      const text = await readFile(name, 'utf8')
      await backUp({ db: store.db, dialect: databaseUrl === undefined ? 'sqlite' : 'postgres' }, path, {
        settings: { name: basename(name), text, entries: state.file.servers },
      })
      file = await open(path, 'r')
      await store.close()
      await rm(path)
      return file
    } catch (error) {
      await Promise.allSettled([file?.close(), store.close(), rm(path, { force: true })])
      throw error
    }
  }
}

function streamOf(file: FileHandle, done: () => void): ReadableStream<Uint8Array> {
  const ended = new AbortController()
  const late = setTimeout(() => ended.abort(), LONGEST_MS)
  const end = async (): Promise<void> => {
    clearTimeout(late)
    try {
      await file.close()
    } finally {
      done()
    }
  }
  return new ReadableStream({
    async pull(controller) {
      if (ended.signal.aborted) {
        await end()
        throw new HubError('request_timeout', 'The backup was downloaded too slowly')
      }
      const { bytesRead, buffer } = await file.read(new Uint8Array(CHUNK_BYTES), 0, CHUNK_BYTES).catch(async error => {
        await end()
        throw error
      })
      if (bytesRead > 0) return controller.enqueue(buffer.subarray(0, bytesRead))
      await end()
      controller.close()
    },
    cancel: end,
  })
}
