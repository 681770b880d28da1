import { HubError } from '../../contract/errors.ts'
import { type AddressRights, checkHostLiteral } from '../address.ts'
import { quoteName } from '../names.ts'

/**
 * Throws `url_address_blocked` for a host to which these rights do not permit a connection, judged by its text; the addresses of
 * a name are checked when it is connected to. `whose` begins the message, such as `The server’s address`.
 */
export function refuseClosedHost(whose: string, hostname: string, rights: AddressRights, thing: string): void {
  if (checkHostLiteral(hostname, rights) !== 'blocked') return
  throw new HubError('url_address_blocked', `${whose} ${quoteName(hostname)} is not open to ${thing} of this owner`, {
    hint: 'An administrator can open a network by OUTBOUND_ALLOW.',
  })
}
