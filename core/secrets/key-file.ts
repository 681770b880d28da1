import { Buffer } from 'node:buffer'
import { randomBytes, randomUUID } from 'node:crypto'
import { chmod, link, open, readFile, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'

const KEY_BYTES = 32

/** What the hub makes for itself at the first start. */
export interface HubKeys {
  /** Seals secrets at rest. */
  readonly master: Uint8Array
  /** Signs session tokens, where JWT_SECRET is not set. */
  readonly jwtSecret: Uint8Array
  /** Tells this hub from every other one. A UUID. */
  readonly instanceId: string
}

/**
 * Reads the hub's own keys from 0600 files in the data folder (`master.key`, `jwt.key`, `instance-id`), making those that are
 * missing. A file that cannot be read as a key is an error and never made anew: what it sealed would be lost.
 */
export async function readHubKeys(dataDir: string): Promise<HubKeys> {
  const master = await readKeyFile(join(dataDir, 'master.key'))
  const jwtSecret = await readKeyFile(join(dataDir, 'jwt.key'))
  const idFile = join(dataDir, 'instance-id')
  const instanceId = await readOrMake(idFile, randomUUID)
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(instanceId)) {
    throw new Error(`${idFile} does not hold an instance id (a UUID). Restore it from a backup, or remove it`)
  }
  return { master, jwtSecret, instanceId }
}

/** A key of 32 bytes, as base64url in a file of mode 0600; made when there is none. */
async function readKeyFile(path: string): Promise<Uint8Array> {
  const text = await readOrMake(path, () => randomBytes(KEY_BYTES).toString('base64url'))
  const key = Buffer.from(text, 'base64url')
  if (key.length === KEY_BYTES && key.toString('base64url') === text) return key
  throw new Error(
    `${path} does not hold a key (${KEY_BYTES} bytes as base64url). Restore it from a backup; without it the secrets that were sealed with it are lost`,
  )
}

async function readOrMake(path: string, make: () => string): Promise<string> {
  const known = await readOwnFile(path)
  if (known !== undefined) return known
  // Linked into place when it is whole: a crash leaves no half key, and of two makers one wins and both read the same.
  const temporary = `${path}.${randomUUID()}.tmp`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(`${make()}\n`)
    await file.sync()
    await file.close()
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await file.close().catch(() => undefined)
    await unlink(temporary)
  }
  const made = await readOwnFile(path)
  if (made === undefined) throw new Error(`${path} vanished while it was made`)
  return made
}

async function readOwnFile(path: string): Promise<string | undefined> {
  try {
    const { mode } = await stat(path)
    if ((mode & 0o077) !== 0) await chmod(path, 0o600)
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
