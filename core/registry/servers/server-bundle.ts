import type { ServerSettings } from '../../contract/records.ts'
import { quoteName } from '../../domain/names.ts'
import { bundleOf } from '../../domain/server/bundle.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { Reader } from '../../store/transact.ts'

/**
 * Checks that the owner has the bundle of a server: knowing a hash does not give access to another user's file. The server's
 * previous bundle stays allowed, regardless of its owner. Throws `validation_failed`.
 */
export async function requireBundle(
  db: Reader,
  ownerId: string,
  { config }: Pick<ServerSettings, 'config'>,
  before?: Pick<ServerSettings, 'config'>,
): Promise<void> {
  const bundle = bundleOf(config)
  if (bundle === undefined || (before && bundleOf(before.config) === bundle)) return
  const found = await db
    .selectFrom('bundle_owner')
    .select('sha256')
    .where('sha256', '=', bundle)
    .where('owner_id', '=', ownerId)
    .executeTakeFirst()
  if (found) return
  const detail = `Its owner has no bundle ${quoteName(bundle)}; POST /api/bundles takes the file`
  throw validationError([{ pointer: '#/bundle', code: 'bundle_missing', detail }], 'The server cannot be saved')
}
