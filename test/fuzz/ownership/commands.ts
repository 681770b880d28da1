import { expect } from 'bun:test'
import fc from 'fast-check'
import { behind, type Model, type Person, statusOf, type Thing, type Visibility } from './model.ts'
import { PEOPLE, type World } from './world.ts'

type Command = fc.AsyncCommand<Model, World>

interface Names {
  readonly who: Person
  readonly owner: string
  readonly name: string
}

const SERVERS = ['a', 'b'] as const
const GROUPS = ['g', 'h'] as const
const names = (known: readonly string[]): fc.Arbitrary<Names> =>
  fc.record({
    who: fc.constantFrom(...PEOPLE),
    owner: fc.constantFrom(...PEOPLE.map(person => person.name)),
    name: fc.constantFrom(...known),
  })
const visibility = fc.constantFrom<Visibility[]>('private', 'public')
const kind = fc.constantFrom<('servers' | 'groups')[]>('servers', 'groups')

function command(text: string, run: (model: Model, world: World) => Promise<void>): Command {
  return { check: () => true, run, toString: () => text }
}

function find(model: Model, of: 'servers' | 'groups', owner: string, name: string): Thing | undefined {
  return of === 'servers' ? model.server(owner, name) : model.group(owner, name)
}

let tags = 0

const createServer = fc.tuple(names(SERVERS), visibility).map(([{ who, name }, seen]) =>
  command(`${who.name} creates ${seen} server ${name}`, async (model, world) => {
    tags += 1
    const tag = `tag-${tags}`
    const body = { name, visibility: seen, url: world.upstream.url, headers: { 'x-tag': tag } }
    const answer = await world.ask(who.name, 'POST', '/api/servers', body)
    expect(answer.status).toBe(model.server(who.name, name) ? 409 : 201)
    if (answer.status !== 201) return
    model.servers.push({ owner: who.name, name, visibility: seen, tag })
    await world.online(who.name, name)
  }),
)

const createGroup = fc
  .tuple(
    names(GROUPS),
    visibility,
    fc.uniqueArray(names(SERVERS), { maxLength: 3, selector: of => `${of.owner}~${of.name}` }),
  )
  .map(([{ who, name }, seen, wanted]) =>
    command(
      `${who.name} creates ${seen} group ${name} of ${wanted.map(of => `${of.owner}~${of.name}`)}`,
      async (model, world) => {
        const members = wanted.map(of => model.server(of.owner, of.name))
        const usable = members.flatMap(server =>
          server && (server.visibility === 'public' || server.owner === who.name) ? [server] : [],
        )
        const body = { name, visibility: seen, members: wanted.map(of => `${of.owner}~${of.name}`) }
        const answer = await world.ask(who.name, 'POST', '/api/groups', body)
        const taken = model.group(who.name, name) !== undefined
        if (usable.length < wanted.length) expect(answer.status).toBe(taken ? answer.status : 400)
        else expect(answer.status).toBe(taken ? 409 : 201)
        if (answer.status === 201) model.groups.push({ owner: who.name, name, visibility: seen, members: usable })
      },
    ),
  )

const change = fc.tuple(kind, names([...SERVERS, ...GROUPS]), visibility).map(([of, { who, owner, name }, seen]) =>
  command(`${who.name} makes ${of} ${owner}~${name} ${seen}`, async (model, world) => {
    const thing = find(model, of, owner, name)
    const answer = await world.ask(who.name, 'PATCH', `/api/${of}/${owner}~${name}`, { visibility: seen })
    expect(answer.status).toBe(statusOf(who, thing, 'change'))
    if (answer.status === 200 && thing) thing.visibility = seen
    if (answer.status === 200 && of === 'servers') await world.online(owner, name)
  }),
)

const remove = fc.tuple(kind, names([...SERVERS, ...GROUPS])).map(([of, { who, owner, name }]) =>
  command(`${who.name} deletes ${of} ${owner}~${name}`, async (model, world) => {
    const answer = await world.ask(who.name, 'DELETE', `/api/${of}/${owner}~${name}`)
    expect(answer.status).toBe(statusOf(who, find(model, of, owner, name), 'change', 204))
    if (answer.status !== 204) return
    const [server, group] = [model.server(owner, name), model.group(owner, name)]
    if (of === 'servers' && server) model.removeServer(server)
    if (of === 'groups' && group) model.removeGroup(group)
  }),
)

const read = fc.tuple(kind, names([...SERVERS, ...GROUPS])).map(([of, { who, owner, name }]) =>
  command(`${who.name} reads ${of} ${owner}~${name}`, async (model, world) => {
    const thing = find(model, of, owner, name)
    const answer = await world.ask(who.name, 'GET', `/api/${of}/${owner}~${name}`)
    expect(answer.status).toBe(statusOf(who, thing, 'read'))
    if (answer.status !== 200 || of !== 'servers') return
    const whole = who.admin || owner === who.name
    expect(answer.text.includes('x-tag')).toBe(whole)
    expect(answer.text.includes(world.upstream.url)).toBe(whole)
  }),
)

const list = fc
  .tuple(kind, fc.constantFrom(...PEOPLE), fc.constantFrom('mine', 'visible', 'all'))
  .map(([of, who, scope]) =>
    command(`${who.name} lists ${of} (${scope})`, async (model, world) => {
      const answer = await world.ask(who.name, 'GET', `/api/${of}?scope=${scope}`)
      if (scope === 'all' && !who.admin) return expect(answer.status).toBe(403)
      const all: readonly Thing[] = model[of]
      const wanted = all.filter(
        thing => scope === 'all' || thing.owner === who.name || (scope === 'visible' && thing.visibility === 'public'),
      )
      const shown = (things: readonly Thing[]): string[] => things.map(({ owner, name }) => `${owner}~${name}`).sort()
      expect(shown(answer.json.items)).toEqual(shown(wanted))
    }),
  )

const createKey = fc.tuple(names([...SERVERS, ...GROUPS]), fc.boolean()).map(([{ who, owner, name }, all]) =>
  command(`${who.name} makes a key for ${all ? 'mcp' : `${owner}~${name}`}`, async (model, world) => {
    const of = (SERVERS as readonly string[]).includes(name) ? 'servers' : 'groups'
    const thing = find(model, of, owner, name)
    const scope = all ? 'mcp' : { [of.slice(0, -1)]: `${owner}~${name}` }
    const answer = await world.ask(who.name, 'POST', '/api/keys', { label: 'model', scopes: [scope] })
    const visible = all || statusOf(who, thing, 'read') === 200
    expect(answer.status).toBe(visible ? 201 : 400)
    const { secret, id, key } = answer.json
    if (visible && (all || thing))
      model.keys.push({ owner: who.name, scope: all ? 'mcp' : (thing as Thing), secret, id: id ?? key.id })
  }),
)

const dropKey = fc.tuple(fc.nat(), fc.constantFrom(...PEOPLE)).map(([choice, who]) =>
  command(`${who.name} revokes key ${choice}`, async (model, world) => {
    const key = model.keys[choice % Math.max(1, model.keys.length)]
    if (!key) return
    const answer = await world.ask(who.name, 'DELETE', `/api/keys/${key.id}`)
    if (key.owner !== who.name && !who.admin) return expect(answer.status).toBe(404)
    expect(answer.status).toBe(204)
    model.keys = model.keys.filter(other => other !== key)
    // Revoked means closed at once, whatever was remembered of it.
    await expectClosed(world, key.secret)
  }),
)

async function expectClosed(world: World, credential: string): Promise<void> {
  const refused = await fetch(`${world.hub.url}/mcp`, {
    method: 'POST',
    body: '{}',
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
  })
  await refused.text()
  expect(refused.status).toBe(401)
}

const call = fc
  .record({
    who: fc.constantFrom(...PEOPLE),
    owner: fc.option(fc.constantFrom(...PEOPLE.map(person => person.name))),
    name: fc.option(fc.constantFrom(...SERVERS, ...GROUPS)),
    key: fc.option(fc.nat()),
  })
  .map(({ who, owner, name, key }) => {
    const path = name === null ? {} : { name, ...(owner === null ? {} : { owner }) }
    const text = name === null ? '/mcp' : owner === null ? `/mcp/${name}` : `/mcp/@${owner}/${name}`
    return command(`${who.name} calls ${text}${key === null ? '' : ` with key ${key}`}`, async (model, world) => {
      const chosen = key === null ? undefined : model.keys[key % Math.max(1, model.keys.length)]
      const caller = chosen?.owner ?? who.name
      const credential = chosen?.secret ?? (await world.person(caller).mcpKey())
      const wanted = behind(model, caller, path, chosen)
      expect(await world.reached(text, credential)).toEqual(wanted as Set<string>)
    })
  })

/** Actions of people, most of them on things that exist. */
export const commands = fc.commands<Model, World, false>(
  [
    createServer,
    createServer,
    createGroup,
    createGroup,
    change,
    change,
    remove,
    read,
    list,
    createKey,
    createKey,
    dropKey,
    call,
    call,
    call,
    call,
  ],
  {
    maxCommands: 30,
    size: '+1',
  },
)
