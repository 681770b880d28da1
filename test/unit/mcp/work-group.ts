import type { UpstreamRequest } from '../../../core/connections/api.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { catalog, groupRecord, type Hub, member, serverRecord, startHub, textReply, tool } from './support.ts'

export const time = serverRecord('time')
export const notes = serverRecord('notes')

/** A hub with a group `work` of both: `time` has a tool `run`, which runs `handler`; `notes` has one that is called `other`. */
export function hubWith(
  handler: (request: UpstreamRequest, signal: AbortSignal) => Promise<void>,
  capabilities?: JsonObject,
): Hub {
  return startHub((world, upstreams) => {
    world.servers.push(time, notes)
    world.groups.push(groupRecord('work', [member(time), member(notes)]))
    const lists = catalog({ tools: [tool('run')], ...(capabilities ? { capabilities } : {}) })
    upstreams.add(time.id, lists, async (request, signal) => {
      if (request.method !== 'tools/call') return { kind: 'result', text: '{}', isError: false }
      await handler(request, signal)
      return textReply('done')
    })
    upstreams.add(notes.id, catalog({ tools: [tool('other')] }))
  })
}

/** Parameters of a call of `run`. */
export const run = (more: JsonObject = {}) => ({ name: 'run', ...more })
