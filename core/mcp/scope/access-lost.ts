import { HubError } from '../../contract/errors.ts'
import type { Scope } from './scope.ts'

/** The error for a call in flight whose caller lost access to the server or item: as if it did not exist. */
export function accessLost(scope: Scope, method: string): HubError {
  if (scope.gone && scope.path !== '')
    return new HubError(
      'group_not_found',
      'The group or server at this path was removed or renamed before it had answered',
    )
  const code = scope.path === '' ? 'server_not_found' : (LOST[method] ?? 'server_not_found')
  return new HubError(code, 'You may no longer use what this request was sent to')
}

const LOST: Readonly<Record<string, 'tool_not_found' | 'prompt_not_found' | 'resource_not_found'>> = {
  'tools/call': 'tool_not_found',
  'prompts/get': 'prompt_not_found',
  'resources/read': 'resource_not_found',
}

/** The parts of a path that an error names. */
interface NamedPath {
  readonly owner: string | undefined
  readonly name: string
  readonly view?: string
}

/** A path that opens nothing for its caller: missing, foreign, or outside of the key's scopes. */
export function pathNotFound(path: NamedPath | undefined): HubError {
  const inView = path?.owner === undefined ? (path?.name ?? '') : `@${path.owner}/${path.name}`
  const name = path?.view === undefined ? inView : `$${path.view}/${inView}`
  return new HubError(
    'group_not_found',
    name === ''
      ? 'Cannot open /mcp: this credential does not open all servers of its owner'
      : `Cannot open /mcp: there is no group or server "${name.slice(0, 130)}" that you may use`,
  )
}

/** A client signs in again for another group or server, which may have the name by now. */
export function grantLost(): HubError {
  return new HubError('token_wrong_audience', 'The token was made for a group or server that is not here any more')
}
