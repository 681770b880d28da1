import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { extent } from '../support/extent.ts'
import { FEATURES, MAIN_CLIENTS, UPSTREAMS, type UpstreamKind } from './axes.ts'
import { type Found, runUpstream } from './matrix.ts'
import { connect } from './pairs.ts'
import { askingServer, type Place, startWorld, type Upstream, type World } from './upstreams.ts'

/** Two groups. Each has one server of either era, and the eras are on opposite transports in the two groups. */
const PAIRS = [
  ['stdio-old', 'http-new'],
  ['http-old', 'stdio-new'],
] as const
const MEMBERS = UPSTREAMS.filter(({ id }) => PAIRS.some(pair => pair.some(each => each === id)))

/** In the suite two members have two clients each, and the others have the third client. */
function clientsWith(kind: UpstreamKind) {
  const turn = MEMBERS.indexOf(kind)
  return MAIN_CLIENTS.filter((_, row) => extent((row + turn) % 2 === 0, true))
}

let world: World
let found: readonly Found[]

beforeAll(async () => {
  const groups = PAIRS.flatMap((pair, at) => [
    { name: `pair${at}`, servers: pair },
    { name: `asking${at}`, servers: pair.map(id => askingServer(kindOf(id))) },
  ])
  world = await startWorld(MEMBERS, { groups })
  // Both members of a group announce their changes to its clients, so they take turns.
  const chains = PAIRS.map(async (pair, at) => {
    const rows: Found[] = []
    for (const id of pair)
      rows.push(...(await runUpstream(world.admin, inGroup(id, pair, at), clientsWith(kindOf(id)))))
    return rows
  })
  found = (await Promise.all(chains)).flat()
}, 300_000)

afterAll(async () => {
  await world?.stop()
}, 120_000)

function kindOf(id: string) {
  return UPSTREAMS.find(kind => kind.id === id) ?? UPSTREAMS[0]!
}

/** Both members have the same names and URIs, so all of them get the member's name in front. */
function placeOf(group: string, member: string): Place {
  return {
    name: group,
    tool: name => (name.startsWith('grown_') ? name : `${member}_${name}`),
    uri: uri => `patchbay://${member}/${uri}`,
  }
}

function inGroup(id: string, pair: readonly string[], at: number): Upstream {
  const find = (name: string) => world.upstreams.find(({ kind }) => kind.id === name) as Upstream
  const own = find(id)
  return {
    ...own,
    place: placeOf(`pair${at}`, id),
    askingPlace: placeOf(`asking${at}`, askingServer(own.kind)),
    neighbours: pair.filter(each => each !== id).map(find),
  }
}

for (const client of MAIN_CLIENTS)
  describe(`a client of ${client.name}, at a group of two eras`, () => {
    for (const kind of MEMBERS.filter(each => clientsWith(each).includes(client)))
      for (const feature of FEATURES)
        test(`${feature} with the member of ${kind.name}`, () => {
          const one = found.find(each => each.client === client && each.upstream === kind && each.feature === feature)
          expect(one?.outcome).toBe('works')
        })

    test('links in results and resources in prompts have the form by which they can be read', async () => {
      const peer = await connect(world.admin, client, { name: 'ann', path: 'pair0' })
      try {
        for (const member of PAIRS[0]) {
          const uri = `patchbay://${member}/test://watched-resource`
          expect((await peer.call(`${member}_link`, {})).content[0]?.uri).toBe(uri)
          const prompt = await peer.promptText(`${member}_test_prompt_with_embedded_resource`, {
            resourceUri: 'test://watched-resource',
          })
          expect(prompt).toContain(uri)
          expect(await peer.read(uri)).toEqual([[uri, 'Watched resource content']])
        }
      } finally {
        await peer.close()
      }
    })
  })
