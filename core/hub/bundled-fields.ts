import { serverFields as oauthClient } from '../../plugins/oauth-client/server-fields.ts'
import { type EntryFields, entryFields } from '../config/shape/entry-fields.ts'
import type { ServerFields } from '../features/server-fields.ts'

/** The fields of servers that bundled plugins define; files are read before plugins are loaded. */
export const BUNDLED_FIELDS: Readonly<Record<string, ServerFields>> = { ...oauthClient }

/** The form of these fields in files. */
export const ENTRY_FIELDS: EntryFields = entryFields(Object.values(BUNDLED_FIELDS))
