import { definePlugin, type JsonObject } from 'patchbay/contract'
import { z } from 'zod'

/** Sets a server up for its user: creates it with a group of its own, waits for it, and says which tools it has. */
export default definePlugin({
  name: 'workshop',
  contract: 1,
  setup(context) {
    const { routes, servers, groups, people, states } = context

    routes.add({
      method: 'POST',
      path: '/benches',
      access: 'user',
      summary: 'Set up a server with a group of its own',
      body: z.object({ name: z.string().max(64), server: z.record(z.string(), z.unknown()) }),
      answers: {
        201: { description: 'State and tools', schema: z.object({ state: z.string(), tools: z.array(z.string()) }) },
      },
      async handle({ actor, body: { name, server } }) {
        await servers.create(actor, { ...(server as JsonObject), name })
        await groups.create(actor, { name, members: [{ server: name }] })
        const { state } = await states.of(actor, name, 20_000)
        const client = await context.client(actor, `/mcp/${name}`)
        const tools = await client.tools(100)
        client.close()
        return { status: 201, body: { state, tools: tools.map(tool => tool.name) } }
      },
    })

    routes.add({
      method: 'POST',
      path: '/benches/{name}/calls',
      access: 'user',
      summary: 'Call a tool as an ordinary user, as a job of yours would',
      body: z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) }),
      answers: { 200: { description: 'The result' } },
      timeoutMs: 30_000,
      async handle({ actor, params: { name = '' }, body, signal }) {
        const caller = await people.actor(actor.userId)
        if (!caller) return { status: 404 }
        const client = await context.client(caller, `/mcp/${name}`)
        try {
          return { body: await client.call(body.tool, body.arguments as JsonObject, signal) }
        } finally {
          client.close()
        }
      },
    })

    routes.add({
      method: 'DELETE',
      path: '/benches/{name}',
      access: 'user',
      summary: 'Remove a server and its group',
      answers: { 204: { description: 'Removed' } },
      async handle({ actor, params: { name = '' } }) {
        await groups.remove(actor, name)
        await servers.remove(actor, name)
        return { status: 204 }
      },
    })

    routes.add({
      method: 'GET',
      path: '/reach',
      access: 'user',
      summary: 'Ask an address that you may reach',
      query: z.object({ url: z.url().max(500) }),
      answers: { 200: { description: 'Its status', schema: z.object({ status: z.int() }) } },
      async handle({ actor, query: { url } }) {
        const answer = await context.fetchFor(actor.userId)(url, { method: 'GET', headers: {} })
        answer.cancel()
        return { body: { status: answer.status } }
      },
    })
    routes.add({
      method: 'POST',
      path: '/ask',
      access: 'user',
      summary: 'Send a text over a WebSocket, and wait for the answer',
      body: z.object({ url: z.url().max(500), text: z.string().max(1_000) }),
      answers: { 200: { description: 'The answer', schema: z.object({ answer: z.string() }) } },
      async handle({ actor, body: { url, text } }) {
        const { promise, resolve, reject } = Promise.withResolvers<string>()
        const signal = AbortSignal.timeout(5_000)
        const socket = await context.dialFor(actor.userId)(url, { signal, message: resolve, closed: reject })
        socket.send(text)
        try {
          return { body: { answer: await promise } }
        } finally {
          await socket.close()
        }
      },
    })
    const counting = context.thread(new URL('./count-thread.ts', import.meta.url).href)
    routes.add({
      method: 'POST',
      path: '/words',
      access: 'user',
      summary: 'Count the words of a text',
      body: z.object({ text: z.string().max(10_000) }),
      answers: { 200: { description: 'The count', schema: z.object({ words: z.int() }) } },
      async handle({ body: { text } }) {
        return { body: { words: Number(await counting.request(text, 2_000)) } }
      },
    })

    routes.add({
      method: 'POST',
      path: '/words/file',
      access: 'user',
      summary: 'Count the words of a file, sent as the raw body',
      rawBody: 10_000,
      answers: { 200: { description: 'The count', schema: z.object({ words: z.int(), bytes: z.int() }) } },
      async handle({ bytes }) {
        const words = await counting.request(new TextDecoder().decode(bytes), 2_000)
        return { body: { words: Number(words), bytes: bytes.length } }
      },
    })
    return undefined
  },
})
