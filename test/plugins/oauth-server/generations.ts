/** Official clients of both generations, as a program uses them that signs in. */
import { expect } from 'bun:test'
import { Client as ClientOf2, StreamableHTTPClientTransport as TransportOf2 } from '@modelcontextprotocol/client'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as ClientOf1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportOf1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { MemoryProvider } from '../../support/oauth.ts'

/** A client that is connected. */
export interface Connected {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

/** Connects with one generation: once to find out that a sign-in is needed, and again with its tokens. */
export const GENERATIONS: Readonly<Record<string, (url: string, provider: MemoryProvider) => Promise<Connected>>> = {
  async '1'(url, provider) {
    const open = () => {
      const transport = new TransportOf1(new URL(url), { authProvider: provider })
      return { transport, client: new ClientOf1({ name: 'one', version: '1' }) }
    }
    const first = open()
    if (provider.kept.tokens === undefined) {
      await expect(first.client.connect(first.transport as never)).rejects.toThrow(UnauthorizedError)
      await first.transport.finishAuth(provider.answer?.get('code') as string)
    }
    const { client, transport } = open()
    await client.connect(transport as never)
    return client
  },
  async '2'(url, provider) {
    const open = () => {
      const transport = new TransportOf2(new URL(url), { authProvider: provider as never })
      return { transport, client: new ClientOf2({ name: 'two', version: '1' }) }
    }
    const first = open()
    if (provider.kept.tokens === undefined) {
      await expect(first.client.connect(first.transport)).rejects.toThrow()
      await first.transport.finishAuth(provider.answer as URLSearchParams)
    }
    const { client, transport } = open()
    await client.connect(transport)
    return client as unknown as Connected
  },
}
