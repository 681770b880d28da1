/**
 * Runs every client program with the JSON it is given. At each place it connects and tries the features of its package, then
 * it comes with a wrong key and notes the words that its user sees. Prints `found JSON`.
 *
 * A package's `open(url, key)` returns what it can: tools() and call(), resources() and read(), prompts() and prompt(), and in
 * `answers` the questions that it declares to answer.
 */

/** Each with the tool that asks it, and what it makes of the answer. */
const QUESTIONS = {
  sampling: ['test_sampling', { prompt: 'Say something' }, 'sampled here'],
  elicitation: ['test_elicitation', { message: 'Who are you?' }, 'ada@example.org'],
  roots: ['test_input_required_result_list_roots', {}, 'file:///projects/one'],
}
export const SAMPLED = { model: 'none', role: 'assistant', content: { type: 'text', text: 'sampled here' } }
export const ELICITED = { action: 'accept', content: { username: 'Ada', email: 'ada@example.org' } }
export const ROOTS = { roots: [{ uri: 'file:///projects/one', name: 'One' }] }

const plainFetch = globalThis.fetch
let spoken

/** The version that a request names, of whichever era. */
globalThis.fetch = (to, init) => {
  const body = typeof init?.body === 'string' ? JSON.parse(init.body) : {}
  spoken = body.params?.protocolVersion ?? body.params?._meta?.['io.modelcontextprotocol/protocolVersion'] ?? spoken
  return plainFetch(to, init)
}

function holds(found, wanted, what) {
  if (!String(found).includes(wanted)) throw new Error(`${what}: expected "${wanted}", found ${String(found)}`)
}

async function tools(client, { echoes }) {
  const names = await client.tools()
  for (const echo of echoes) {
    holds(names, echo, 'tools')
    holds(await client.call(echo, { text: `grüße ${echo}` }), `grüße ${echo}`, echo)
  }
}

async function resources(client) {
  const listed = await client.resources()
  const uri = listed.find(each => each.endsWith('static-text'))
  holds(await client.read(uri), 'the static text resource', `${uri} of ${listed}`)
}

async function prompts(client, { prefix }) {
  const name = `${prefix}test_simple_prompt`
  holds(await client.prompts(), name, 'prompts')
  holds(await client.prompt(name), 'This is a simple prompt', name)
}

async function question(client, { prefix }, kind) {
  const [name, args, wanted] = QUESTIONS[kind]
  holds(await client.call(`${prefix}${name}`, args), wanted, kind)
}

const messageOf = error => String(error?.message ?? error)

async function visit(open, url, key, place) {
  const client = await open(new URL(place.path, url), key)
  const trials = {
    ...(client.tools && { tools }),
    ...(client.resources && { resources }),
    ...(client.prompts && { prompts }),
  }
  for (const kind of client.answers ?? []) trials[kind] = question
  const outcomes = {}
  for (const [feature, trial] of Object.entries(trials))
    outcomes[feature] = await trial(client, place, feature).then(() => 'works', messageOf)
  spoken = client.version?.() ?? spoken
  await client.close?.()
  return outcomes
}

export async function run(open) {
  const { places, url, key, wrongKey } = JSON.parse(process.argv[2])
  const visits = Object.entries(places).map(async ([name, place]) => [
    name,
    await visit(open, url, key, place).catch(error => ({ connection: messageOf(error) })),
  ])
  const found = Object.fromEntries(await Promise.all(visits))
  const speaks = spoken
  const [first] = Object.values(places)
  const refused = await open(new URL(first.path, url), wrongKey)
    .then(client => client.tools())
    .then(() => 'nothing: it was let in', messageOf)
  console.log(`found ${JSON.stringify({ places: found, speaks, refused })}`)
  // Some packages keep a connection open that holds the program.
  process.exit(0)
}
