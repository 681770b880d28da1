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
