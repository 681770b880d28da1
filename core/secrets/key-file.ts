import { Buffer } from 'node:buffer'
import { randomBytes, randomUUID } from 'node:crypto'
import { chmod, link, open, readFile, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '../config/atomic-write.ts'
import { inDataDir, StartError } from '../config/start-error.ts'

/** Length of a key of the hub, in bytes. */
export const KEY_BYTES = 32

/** Keys that the hub generates at its first start, besides its master key. */
export interface HubKeys {
  /** Signs session tokens, where JWT_SECRET is not set. */
  readonly jwtSecret: Uint8Array
  /** Identifies this hub. A UUID. */
  readonly instanceId: string
}

/**
 * Reads `jwt.key` and `instance-id`, files of mode 0600 in the data folder, and creates the missing ones. Throws
 * StartError master_key_invalid for a malformed file, which is never replaced; data_dir_unwritable when the file system
 * refuses.
 */
export async function readHubKeys(dataDir: string): Promise<HubKeys> {
  const jwtFile = join(dataDir, 'jwt.key')
  const jwtSecret = (await readKeyFile(jwtFile)) ?? (await makeKeyFile(jwtFile))
  const idFile = join(dataDir, 'instance-id')
  const instanceId = (await readOwnFile(idFile)) ?? (await make(idFile, randomUUID()))
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(instanceId)) {
    throw new StartError(
      'master_key_invalid',
      `${idFile} does not hold an instance id (a UUID). Restore it from a backup, or remove it`,
    )
  }
  return { jwtSecret, instanceId }
}

/**
 * Reads a key of 32 bytes, stored as base64url. Undefined when there is no file. Throws StartError master_key_invalid
 * for a malformed key, data_dir_unwritable when the file cannot be read.
 */
export async function readKeyFile(path: string): Promise<Uint8Array | undefined> {
  const text = await readOwnFile(path)
  if (text === undefined) return undefined
  const key = Buffer.from(text, 'base64url')
  if (key.length === KEY_BYTES && key.toString('base64url') === text) return key
  throw new StartError(
    'master_key_invalid',
    `${path} does not hold a key (${KEY_BYTES} bytes as base64url). Restore it from a backup; without it what was made with it is lost`,
  )
}

/** Writes a new random key to a file of mode 0600. When two processes race, both return the same key. Throws StartError
 * data_dir_unwritable. */
export async function makeKeyFile(path: string): Promise<Uint8Array> {
  return Buffer.from(await make(path, randomBytes(KEY_BYTES).toString('base64url')), 'base64url')
}

/** Replaces the key in the file atomically. Default: with a new random one. */
export async function replaceKeyFile(path: string, key: Uint8Array = randomBytes(KEY_BYTES)): Promise<Uint8Array> {
  const temporary = await writeBeside(path, Buffer.from(key).toString('base64url'))
  await rename(temporary, path)
  await syncFolder(dirname(path))
  return key
}

/** Hard-links the file to a second name, durably, before the first one is changed. An existing `name` is kept. */
export async function keepUnder(path: string, name: string): Promise<void> {
  await linkOnce(path, name)
  await syncFolder(dirname(name))
}

async function make(path: string, text: string): Promise<string> {
  await inDataDir(path, async () => {
    // Linked into place once complete: a crash leaves no partial key.
    const temporary = await writeBeside(path, text)
    try {
      await linkOnce(temporary, path)
    } finally {
      await unlink(temporary)
    }
  })
  const made = await readOwnFile(path)
  if (made === undefined) throw new Error(`${path} vanished while it was made`)
  return made
}

async function writeBeside(path: string, text: string): Promise<string> {
  const temporary = `${path}.${randomUUID()}.tmp`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(`${text}\n`)
    await file.sync()
  } catch (error) {
    await unlink(temporary)
    throw error
  } finally {
    await file.close()
  }
  return temporary
}

async function linkOnce(from: string, to: string): Promise<void> {
  await link(from, to).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}

function readOwnFile(path: string): Promise<string | undefined> {
  return inDataDir(path, async () => {
    try {
      const { mode } = await stat(path)
      if ((mode & 0o077) !== 0) await chmod(path, 0o600)
      return (await readFile(path, 'utf8')).trim()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  })
}
