/**
 * Tries every cell, every client and every server, and writes docs/reference/compatibility.md: `bun run compatibility`, which
 * first installs what is tried. Ends with 1 where something is not as its row expects.
 */

import { runningHub } from '../unit/cli/running-hub.ts'
import { OLDER_UPSTREAMS, UPSTREAMS } from './axes.ts'
import { CLIENTS } from './foreign/clients.ts'
import { CONNECTED, readBack } from './foreign/connected.ts'
import { FAILED, foreignSection } from './foreign/page.ts'
import { runClients, runServers } from './foreign/run-all.ts'
import { SERVERS } from './foreign/servers.ts'
import { runMatrix } from './matrix.ts'
import { compatibilityPage, PAGE } from './page.ts'
import { startWorld } from './upstreams.ts'

async function matrix(): Promise<string> {
  const world = await startWorld([...UPSTREAMS, ...OLDER_UPSTREAMS])
  try {
    return compatibilityPage(await runMatrix(world))
  } finally {
    await world.stop()
  }
}

/** Lets real clients read the files that `patchbay connect` writes for them. Returns the errors. */
async function runConnected(): Promise<readonly string[]> {
  const hub = await runningHub()
  try {
    await hub.run(['groups', 'create', 'work'])
    const wrong: string[] = []
    for (const client of CONNECTED) {
      const { listed, printed } = await readBack(client, hub)
      if (!listed) wrong.push(`${client.client} does not read what connect writes: ${printed}`)
    }
    return wrong
  } finally {
    await hub[Symbol.asyncDispose]()
  }
}

// One after the other, since each fills the machine.
const first = await matrix()
const clients = await runClients(CLIENTS)
const servers = await runServers(SERVERS)
const unread = await runConnected()
const page = `${first}\n${foreignSection(clients, servers)}`
await Bun.write(PAGE, page)

const unlike = clients.filter(
  ({ client, speaks, refused }) => speaks !== client.speaks || !client.refusal.test(refused),
)
for (const { client, speaks, refused } of unlike)
  console.error(`${client.name} speaks ${speaks} and says to its user: ${refused}`)
for (const line of unread) console.error(line)
for (const line of page.split('\n')) if (line.includes(FAILED)) console.error(line)
process.exit(unlike.length > 0 || unread.length > 0 || page.includes(FAILED) ? 1 : 0)
