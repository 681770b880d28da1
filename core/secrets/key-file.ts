import { Buffer } from 'node:buffer'
import { randomBytes, randomUUID } from 'node:crypto'
import { chmod, link, open, readFile, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '../config/atomic-write.ts'
import { inDataDir, StartError } from '../config/start-error.ts'

export const KEY_BYTES = 32

/** What the hub makes for itself at the first start, besides its master key. */
export interface HubKeys {
  /** Signs session tokens, where JWT_SECRET is not set. */
  readonly jwtSecret: Uint8Array
  /** Tells this hub from every other one. A UUID. */
  readonly instanceId: string
}

/**
 * Reads `jwt.key` and `instance-id`, 0600 files of the data folder, making those that are missing. A file that cannot be read
 * as what it is called is StartError master_key_invalid and never made anew; data_dir_unwritable when the file system refuses.
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
 * A key of 32 bytes from a file that has it as base64url. Undefined when there is no file. StartError when it is no key
 * (master_key_invalid), or cannot be read (data_dir_unwritable).
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

/** A new random key in a file of mode 0600. Of two makers one wins, and both get the same. Throws StartError data_dir_unwritable. */
export async function makeKeyFile(path: string): Promise<Uint8Array> {
  return Buffer.from(await make(path, randomBytes(KEY_BYTES).toString('base64url')), 'base64url')
}

/** Puts a new random key in the place of the one in the file: at every moment the file holds one of them, whole. */
export async function replaceKeyFile(path: string): Promise<Uint8Array> {
  const key = randomBytes(KEY_BYTES)
  const temporary = await writeBeside(path, key.toString('base64url'))
  await rename(temporary, path)
  await syncFolder(dirname(path))
  return key
}

/** A second name for the same file, and durable before anything happens to the first one. One that is there already stays. */
export async function keepUnder(path: string, name: string): Promise<void> {
  await linkOnce(path, name)
  await syncFolder(dirname(name))
}

async function make(path: string, text: string): Promise<string> {
  await inDataDir(path, async () => {
    // Linked into place when it is whole: a crash leaves no half key.
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
