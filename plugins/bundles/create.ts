import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { HubError, type ServerRecord, type UserActor } from 'patchbay/contract'
import type { PluginServers } from 'patchbay/features'
import { nextTurn, OneAtATime, type Planned, plannedByReading } from 'patchbay/plugin-kit'
import { invalid, type ReadLimits, readArchive, withoutSignature } from './archive.ts'
import { type BundleManifest, MANIFEST_BYTES, readManifest, wantedFiles } from './manifest.ts'
import { type BundleInstallRequest, type BundlePlan, draftBundle } from './plan.ts'
import type { BundleStore, StoredBundle } from './store.ts'

/** Dependencies of bundles on the rest of the hub. */
export interface BundlesDeps {
  readonly store: BundleStore
  readonly servers: PluginServers
  /** Platform in Node's terms. */
  readonly platform: string
}

/** Bundles of users, and their installation as servers. */
export interface Bundles {
  /** Checks and keeps a file. Throws `bundle_invalid`, `quota_bundles`, `quota_stored_bytes`, `overloaded`. */
  add(actor: UserActor, content: Uint8Array, signal: AbortSignal): Promise<StoredBundle>
  list(actor: UserActor): Promise<readonly StoredBundle[]>
  /** Throws `bundle_not_found`. */
  get(actor: UserActor, id: string): Promise<StoredBundle>
  /** Throws `bundle_not_found`, `bundle_in_use`. */
  remove(actor: UserActor, id: string): Promise<void>
  /** A plan passes the same checks as saving. */
  readonly installation: Planned<BundleInstallRequest, BundlePlan, ServerRecord>
}

const HASHED_BYTES = 4 * 1024 * 1024

/** Bundles in the store. */
export function createBundles({ store, servers, platform }: BundlesDeps): Bundles {
  // Each holds its file and takes seconds of inflating.
  const turns = new OneAtATime('Too many bundles are read at this moment')
  const senders = new Set<string>()

  const installation = plannedByReading({
    what: 'installation',
    unready: 'The bundle cannot be installed',
    async draft(actor: UserActor, request: BundleInstallRequest) {
      const { id, request: asked } = request
      const { body, ...draft } = draftBundle(await store.get(actor.userId, id), request, {
        ...{ platform, isInside: servers.hasProgram },
      })
      // Rights are checked before inputs: users who may not run programs are not asked for keys.
      await servers.check(actor, body)
      const make = async () => {
        await store.touch(actor.userId, id)
        return servers.create(actor, body, { audit: { detail: { bundle: id }, request: asked } })
      }
      return { ...draft, make }
    },
  })

  return {
    async add(actor, content, signal) {
      if (senders.has(actor.userId)) {
        throw new HubError('overloaded', 'Another bundle of yours is being read', { retryAfterSeconds: 2 })
      }
      senders.add(actor.userId)
      try {
        return await turns.run(async () => {
          await store.sweep(Date.now())
          await store.sweepParts()
          const bundle = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
          const { signed } = withoutSignature(bundle)
          const owner = { id: actor.userId, name: actor.name, role: actor.role }
          const id = await hashOf(bundle)
          const allowance = await store.room(owner, id, bundle.length)
          const { manifest, diskBytes } = await checkBundle(bundle, { signal, ...(allowance ? { allowance } : {}) })
          await store.add(owner, { id, manifest, signed }, bundle, diskBytes)
          return store.get(actor.userId, id)
        })
      } finally {
        senders.delete(actor.userId)
      }
    },
    list: async actor => {
      // Not awaited: a list must not wait for a write. Bundles that cannot be removed now are removed by the next sweep.
      void store.sweep(Date.now()).catch(() => undefined)
      return store.list(actor.userId)
    },
    get: (actor, id) => store.get(actor.userId, id),
    remove: (actor, id) => store.remove(actor.userId, id),
    installation,
  }
}

/** Reads the whole bundle once, and returns its manifest. Throws `bundle_invalid`, `quota_stored_bytes`. */
async function checkBundle(
  bundle: Buffer,
  limits: ReadLimits,
): Promise<{ readonly manifest: BundleManifest; readonly diskBytes: number }> {
  let manifest: BundleManifest | undefined
  const names = new Set<string>()
  const diskBytes = await readArchive(
    bundle,
    async ({ name }, content) => {
      names.add(name)
      const pieces: Buffer[] = []
      let length = 0
      for await (const chunk of content) {
        if (name !== 'manifest.json') continue
        length += chunk.length
        if (length > MANIFEST_BYTES) throw invalid(`manifest.json has more than ${MANIFEST_BYTES} bytes`)
        pieces.push(chunk)
      }
      if (name === 'manifest.json') manifest = readManifest(Buffer.concat(pieces))
    },
    limits,
  )
  if (!manifest) throw invalid('there is no manifest.json at its top')
  const missing = wantedFiles(manifest).find(name => !names.has(name))
  if (missing === undefined) return { manifest, diskBytes }
  throw invalid(`its server is of type "${manifest.server.type}", and there is no ${missing} at its top`)
}

async function hashOf(bundle: Buffer): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < bundle.length; at += HASHED_BYTES) {
    hash.update(bundle.subarray(at, at + HASHED_BYTES))
    await nextTurn()
  }
  return hash.digest('hex')
}
