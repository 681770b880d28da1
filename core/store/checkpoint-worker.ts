/** Worker that checkpoints the database whose path it receives, and posts a message when it has finished. */
import Database from 'better-sqlite3'

declare const self: Worker

self.onmessage = ({ data: path }: MessageEvent<string>): void => {
  const database = new Database(path, { fileMustExist: true, timeout: 0 })
  try {
    // Passive: waits for no lock, so the main thread can write meanwhile.
    database.pragma('wal_checkpoint(passive)')
  } finally {
    database.close()
  }
  self.postMessage('done')
}
