import { expect, test } from 'bun:test'
import type { UserActor } from '../../../core/contract/records.ts'
import { catalog, groupRecord, member, serverRecord, startHub, tool } from './support.ts'

const CLIENTS = 8
const ALICE: UserActor = { kind: 'user', userId: 'u-alice', name: 'alice', role: 'user', credential: { kind: 'local' } }

test('clients inside the hub read their lists in turns, between which others are served', async () => {
  const server = serverRecord('many')
  await using one = startHub((world, upstreams) => {
    world.servers.push(server)
    world.groups.push(groupRecord('g', [member(server)]))
    upstreams.add(server.id, catalog({ tools: Array.from({ length: 50 }, (_, n) => tool(`t${n}`)) }))
  })
  const options = { actor: ALICE, path: '/mcp/g', clientName: '', changed() {}, ended() {} }
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => one.mcp.openPath(options)))
  let turn = 0
  let looking = true
  const look = (): void => {
    turn += 1
    if (looking) setImmediate(look)
  }
  look()
  const turns = await Promise.all(
    clients.map(async client => {
      expect(await client.tools(50)).toHaveLength(50)
      return turn
    }),
  )
  looking = false
  expect(new Set(turns).size).toBe(CLIENTS)
  for (const client of clients) client.close()
})
