import { z } from 'zod'
import type { Authenticator } from '../../../auth/api.ts'
import { HubError } from '../../../contract/errors.ts'
import type { LiveFeed } from '../../live/live.ts'
import { TOPICS, type Topic } from '../../live/live-events.ts'
import { liveSocket } from '../../live/live-socket.ts'
import { liveEventStream } from '../../live/live-sse.ts'
import { type Route, route } from '../../route.ts'

/** Dependencies of the routes of the live stream. */
export interface StreamRoutesDeps {
  readonly feed: LiveFeed
  readonly authenticator: Authenticator
}

const topicList = z
  .string()
  .max(128)
  .default(TOPICS.join(','))
  .transform((text, context): ReadonlySet<Topic> => {
    const named = text.split(',').map(name => name.trim())
    const unknown = named.find(name => !isTopic(name))
    if (unknown === undefined) return new Set(named.filter(isTopic))
    const message = `${JSON.stringify(unknown.slice(0, 64))} is none of ${TOPICS.join(', ')}`
    context.addIssue({ code: 'custom', message, params: { code: 'enum' } })
    return z.NEVER
  })
  .meta({ description: `Any of ${TOPICS.join(', ')}, with commas between; default all` })

function isTopic(name: string): name is Topic {
  return (TOPICS as readonly string[]).includes(name)
}

const query = z.strictObject({
  topics: topicList,
  since: z.string().max(64).optional().meta({ description: 'The id of the last event that was seen' }),
})

/** The live stream of events. */
export function streamRoutes({ feed, authenticator }: StreamRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/stream',
      access: 'user',
      summary: 'Events as they happen: Server-Sent Events, or a WebSocket when upgraded',
      tag: 'live',
      query,
      responses: {
        200: {
          description:
            'Events with `id`, `event`, `at`, `owner` and `data`; `stream.lost` has the number of events that were not sent',
          contentType: 'text/event-stream',
          schema: z.string(),
        },
      },
      handle({ actor, query: { topics, since }, request, info, signal }) {
        info.keepOpen()
        const lastSeen = since ?? request.headers.get('last-event-id')?.slice(0, 64)
        return liveEventStream(feed, actor, topics, lastSeen, signal)
      },
      upgrade({ actor, query: { topics, since }, info }) {
        // Read before the upgrade, which makes the connection's address unavailable.
        const { addressKey, mayAdminister } = info
        const source = { addressKey, mayAdminister }
        if (info.upgrade?.(liveSocket({ feed, authenticator, actor, source, topics, since }))) return
        throw new HubError('upgrade_required', 'This connection cannot become a WebSocket')
      },
    }),
  ]
}
