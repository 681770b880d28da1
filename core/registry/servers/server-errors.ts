import { HubError } from '../../contract/errors.ts'
import type { ServerRecord } from '../../contract/records.ts'
import { quoteName } from '../../domain/names.ts'
import type { Owner } from '../owners.ts'

/** The error for a server whose owner's account is disabled. */
export function ownerDisabled({ name, ownerName: owner }: ServerRecord): HubError {
  return new HubError('owner_disabled', `The server ${quoteName(name)} is ${owner}’s, whose account is disabled`)
}

/** The error for a name that the owner uses already. */
export function nameTaken(name: string, owner: Owner): HubError {
  const detail = `${owner.name} already owns a server named ${quoteName(name)}`
  return new HubError('server_name_taken', detail, {
    errors: [{ pointer: '#/name', code: 'duplicate', detail }],
  })
}
