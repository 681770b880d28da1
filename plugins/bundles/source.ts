import type { JsonObject } from 'patchbay/contract'
import type { ProgramSource } from 'patchbay/features'
import { quoteName } from 'patchbay/plugin-kit'
import { readArchive } from './archive.ts'
import { bundleError } from './errors.ts'
import type { BundleStore } from './store.ts'

/** Its JSON Schema. */
export const FIELD_SCHEMA: JsonObject = {
  type: 'string',
  minLength: 64,
  maxLength: 64,
  pattern: '^[0-9a-f]{64}$',
  title: 'Bundle',
  description: 'The bundle whose files lie in /opt/package of the sandbox (POST /api/bundles).',
  'x-zh': { title: '包', description: '其文件位于沙箱 /opt/package 中的包（POST /api/bundles）。' },
}

/** Bundles as programs of servers. */
export function bundlePrograms(store: BundleStore): ProgramSource {
  return {
    async refusal(ownerId, id) {
      if (await store.has(ownerId, id)) return undefined
      const detail = `Its owner has no bundle ${quoteName(id)}; POST /api/bundles takes the file`
      return { code: 'bundle_missing', detail }
    },
    async unpack(ownerId, id, write) {
      const content = await store.content(id)
      if (!content) throw bundleError('bundle_not_found', `The bundle ${quoteName(id)} of the server is gone`)
      const allowance = await store.allowance(ownerId, id)
      await store.unpacked(id, await readArchive(content, write, allowance ? { allowance } : {}))
    },
  }
}
