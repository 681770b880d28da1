import type { McpServer, RequestStateCodec, ServerContext } from '@modelcontextprotocol/server'
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  fromJsonSchema,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server'
import { textResult } from './content.ts'

/** State that the tools of several rounds keep between two of them. */
export interface RoundState {
  readonly round: number
  readonly name?: string
}

/** Everything a tool's handler may answer with: a result, or the wish to hear more from the client. */
type Answer = ReturnType<typeof textResult> | ReturnType<typeof inputRequired>

export const object = (properties: Record<string, object>, required: string[] = []) => ({
  type: 'object' as const,
  properties: properties as Record<string, { type: 'string' }>,
  required,
})

const askName = inputRequired.elicit({
  message: 'What is your name?',
  requestedSchema: object({ name: { type: 'string' } }, ['name']),
})

const askSampling = (prompt: string, maxTokens = 100) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens })

function sampled(ctx: ServerContext, key: string): string | undefined {
  const view = inputResponse(ctx.mcpReq.inputResponses, key)
  if (view.kind !== 'sampling') return undefined
  const blocks = Array.isArray(view.result.content) ? view.result.content : [view.result.content]
  return blocks.map(block => (block.type === 'text' ? block.text : `[${block.type}]`)).join(' ')
}

/** Sends one elicitation and answers with `say` of its result, whatever the user decided. */
function elicitation(
  server: McpServer,
  name: string,
  description: string,
  question: Parameters<typeof inputRequired.elicit>[0],
  say: (action: string, content: unknown) => string,
): void {
  server.registerTool(name, { description }, (ctx): Answer => {
    const view = inputResponse(ctx.mcpReq.inputResponses, 'answer')
    if (view.kind !== 'elicit') return inputRequired({ inputRequests: { answer: inputRequired.elicit(question) } })
    return textResult(say(view.action, view.content))
  })
}

export const DEFAULTS = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
}

export const ENUMS = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: {
    type: 'string',
    oneOf: [
      { const: 'value1', title: 'First Option' },
      { const: 'value2', title: 'Second Option' },
      { const: 'value3', title: 'Third Option' },
    ],
  },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: {
    type: 'array',
    items: {
      anyOf: [
        { const: 'value1', title: 'First Choice' },
        { const: 'value2', title: 'Second Choice' },
        { const: 'value3', title: 'Third Choice' },
      ],
    },
  },
}

export const completed = (action: string, content: unknown): string =>
  `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`

/** The tools that send requests to the client, written once as input-required; the package serves them on both wires. */
export function registerAskingTools(server: McpServer, codec: RequestStateCodec<RoundState>): void {
  const prompt = fromJsonSchema<{ prompt: string }>({
    type: 'object',
    properties: { prompt: { type: 'string', description: 'The prompt to send to the model' } },
    required: ['prompt'],
  })
  server.registerTool(
    'test_sampling',
    { description: 'Asks the client for a model answer', inputSchema: prompt },
    (args, ctx): Answer => {
      const answer = sampled(ctx, 'answer')
      if (answer === undefined) return inputRequired({ inputRequests: { answer: askSampling(args.prompt) } })
      return textResult(`LLM response: ${answer}`)
    },
  )
  const message = fromJsonSchema<{ message: string }>({
    type: 'object',
    properties: { message: { type: 'string', description: 'The message to show the user' } },
    required: ['message'],
  })
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the user for a name and an address', inputSchema: message },
    (args, ctx): Answer => {
      const view = inputResponse(ctx.mcpReq.inputResponses, 'answer')
      if (view.kind !== 'elicit') {
        const requestedSchema = object(
          {
            username: { type: 'string', description: "User's response" },
            email: { type: 'string', description: "User's email address" },
          },
          ['username', 'email'],
        )
        return inputRequired({
          inputRequests: { answer: inputRequired.elicit({ message: args.message, requestedSchema }) },
        })
      }
      return textResult(`User response: action: ${view.action}, content: ${JSON.stringify(view.content ?? {})}`)
    },
  )
  elicitation(
    server,
    'test_elicitation_sep1034_defaults',
    'Asks with a default for each primitive type',
    { message: 'Please review the defaults', requestedSchema: object(DEFAULTS) },
    completed,
  )
  elicitation(
    server,
    'test_elicitation_sep1330_enums',
    'Asks with all five forms of an enum',
    { message: 'Please choose', requestedSchema: object(ENUMS) },
    completed,
  )
  elicitation(
    server,
    'test_streaming_elicitation',
    'Asks in the middle of a call',
    { message: 'Please confirm', requestedSchema: object({ ok: { type: 'boolean' } }, ['ok']) },
    completed,
  )
  registerRounds(server, codec)
}

/** The tools that the suite of 2026-07-28 requires: they request input only by their results. */
export function registerRounds(server: McpServer, codec: RequestStateCodec<RoundState>): void {
  const tool = (name: string, description: string, handle: (ctx: ServerContext) => Answer | Promise<Answer>): unknown =>
    server.registerTool(`test_input_required_result_${name}`, { description }, handle)

  tool('elicitation', 'Asks for a name and greets', ctx => {
    const name = acceptedContent<{ name?: unknown }>(ctx.mcpReq.inputResponses, 'user_name')?.name
    if (typeof name !== 'string') return inputRequired({ inputRequests: { user_name: askName } })
    return textResult(`Hello, ${name}!`)
  })
  tool('sampling', 'Asks the model a question', ctx => {
    const answer = sampled(ctx, 'capital_question')
    if (answer !== undefined) return textResult(`The model says: ${answer}`)
    return inputRequired({ inputRequests: { capital_question: askSampling('What is the capital of France?') } })
  })
  tool('list_roots', 'Asks for the roots', ctx => {
    const view = inputResponse(ctx.mcpReq.inputResponses, 'client_roots')
    if (view.kind !== 'roots') return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
    return textResult(`Roots: ${view.roots.map(root => root.uri).join(', ')}`)
  })
  const confirm = inputRequired.elicit({
    message: 'Please confirm',
    requestedSchema: object({ ok: { type: 'boolean' } }, ['ok']),
  })
  for (const [name, done] of [
    ['request_state', 'state-ok: the state came back as it was sent'],
    ['tampered_state', 'The state came back untouched'],
  ] as const) {
    tool(name, 'Keeps a signed state between two rounds', async ctx => {
      const state = ctx.mcpReq.requestState<RoundState>()
      const answered = inputResponse(ctx.mcpReq.inputResponses, 'confirm').kind === 'elicit'
      if (state?.round === 1 && answered) return textResult(done)
      return inputRequired({ inputRequests: { confirm }, requestState: await codec.mint({ round: 1 }, ctx) })
    })
  }
  tool('multiple_inputs', 'Asks three things at once', async ctx => {
    const responses = ctx.mcpReq.inputResponses
    const name = acceptedContent<{ name?: unknown }>(responses, 'user_name')?.name
    const greeting = sampled(ctx, 'greeting')
    const roots = inputResponse(responses, 'client_roots')
    if (name !== undefined && greeting !== undefined && roots.kind === 'roots') {
      return textResult(`${greeting} ${String(name)}, with ${roots.roots.length} roots`)
    }
    return inputRequired({
      inputRequests: {
        user_name: askName,
        greeting: askSampling('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await codec.mint({ round: 1 }, ctx),
    })
  })
  tool('multi_round', 'Asks twice, one after the other', async ctx => {
    const state = ctx.mcpReq.requestState<RoundState>()
    const name = acceptedContent<{ name?: unknown }>(ctx.mcpReq.inputResponses, 'step1')?.name
    const color = acceptedContent<{ color?: unknown }>(ctx.mcpReq.inputResponses, 'step2')?.color
    if (state?.round === 2 && color !== undefined) {
      return textResult(`${state.name ?? 'Somebody'} likes ${String(color)}`)
    }
    if (state?.round === 1 && name !== undefined) {
      const step2 = inputRequired.elicit({
        message: 'Step 2: What is your favorite color?',
        requestedSchema: object({ color: { type: 'string' } }, ['color']),
      })
      return inputRequired({
        inputRequests: { step2 },
        requestState: await codec.mint({ round: 2, name: String(name) }, ctx),
      })
    }
    const step1 = inputRequired.elicit({
      message: 'Step 1: What is your name?',
      requestedSchema: object({ name: { type: 'string' } }, ['name']),
    })
    return inputRequired({ inputRequests: { step1 }, requestState: await codec.mint({ round: 1 }, ctx) })
  })
  tool('capabilities', 'Asks only for what the client can do', ctx => {
    const envelope: Readonly<Record<string, unknown>> | undefined = ctx.mcpReq.envelope
    const declared = envelope ? envelope[CLIENT_CAPABILITIES_META_KEY] : server.server.getClientCapabilities()
    const able = (declared ?? {}) as Readonly<Record<string, object>>
    const answers = Object.keys(ctx.mcpReq.inputResponses ?? {})
    if (answers.length > 0) return textResult(`Answered: ${answers.join(', ')}`)
    const inputRequests = {
      ...(able.elicitation ? { user_name: askName } : {}),
      ...(able.sampling ? { greeting: askSampling('Generate a greeting', 50) } : {}),
      ...(able.roots ? { client_roots: inputRequired.listRoots() } : {}),
    }
    if (Object.keys(inputRequests).length === 0) return textResult('The client can answer nothing')
    return inputRequired({ inputRequests })
  })
}
