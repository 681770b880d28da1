import type { EntryReading, ServerFields } from 'patchbay/features'
import { BRING_FIELDS, SIGN_IN_FIELDS } from './fields/sign-in-fields.ts'

const STAYS = 'the OAuth sign-in stays with the client; set a header with a token'

/**
 * Other programs write `oauth` as a switch, or with the scopes as one text and members of their own, such as addresses that the
 * hub finds out by itself; or they have its members beside it.
 */
const entries: EntryReading = {
  forms: { oauth: { isSwitch: true, names: { scope: 'scopes' }, words: ['scopes'] } },
  left: {
    ...{ oauth: STAYS, scopes: STAYS, oauthscopes: STAYS, clientid: STAYS, clientsecret: STAYS },
    authprovidertype: STAYS,
  },
  auth: { kinds: ['oauth'], left: STAYS },
}

/** The fields of servers that are about who signs in. */
export const serverFields: Readonly<Record<string, ServerFields>> = {
  'sign-in': { transports: ['streamable-http', 'sse'], fields: SIGN_IN_FIELDS, entries },
  'values-of-users': { transports: ['stdio'], fields: BRING_FIELDS },
}
