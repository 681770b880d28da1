/** A thread that moves the write-ahead log into the database whose path it is sent, and answers once it has. */
import Database from 'better-sqlite3'

declare const self: Worker

self.onmessage = ({ data: path }: MessageEvent<string>): void => {
  const database = new Database(path, { fileMustExist: true, timeout: 0 })
  try {
    // Passive: waits for nobody, and the main thread goes on to write.
    database.pragma('wal_checkpoint(passive)')
  } finally {
    database.close()
  }
  self.postMessage('moved')
}
