import { definePlugin, type JsonObject, type TransportContribution } from 'patchbay/contract'

const text = (description: string): JsonObject => ({ type: 'string', maxLength: 8192, description })
const texts = (description: string): JsonObject => ({
  type: 'array',
  items: { type: 'string', maxLength: 8192 },
  maxItems: 5_000,
  description,
})

const credential: JsonObject = {
  type: 'object',
  additionalProperties: false,
  properties: {
    type: {
      enum: ['apiKey', 'http', 'basic', 'bearer', 'oauth2', 'openIdConnect'],
      description: 'The kind of the credential.',
    },
    in: { enum: ['header', 'query', 'cookie'], description: 'Where the key is sent (apiKey).' },
    name: text('Of the header, query parameter or cookie (apiKey).'),
    scheme: { enum: ['basic', 'bearer'], description: 'The scheme of Authorization (http).' },
    value: text('The key (apiKey).'),
    token: text('A bearer token.'),
    username: text('For basic.'),
    password: text('For basic.'),
    clientId: text('For OAuth 2 client credentials.'),
    clientSecret: text('For OAuth 2 client credentials.'),
    tokenUrl: text('Instead of the document’s.'),
    openIdConnectUrl: text('Instead of the document’s.'),
    scopes: texts('Instead of those that the operation names.'),
  },
}

/** The contribution of the OpenAPI transport. */
export const openapiTransport: TransportContribution = {
  label: 'HTTP API (OpenAPI)',
  transport: 'openapi',
  kind: 'answers',
  configSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    required: ['openapi'],
    additionalProperties: false,
    properties: {
      headers: {
        type: 'object',
        format: 'http-headers',
        maxProperties: 64,
        additionalProperties: { type: 'string', maxLength: 8192 },
        default: {},
        title: 'Headers',
        description: 'Sent with every call; win over what the document would send.',
      },
      openapi: {
        title: 'API',
        description: 'The document of the API, or where it is, and what is used of it.',
        type: 'object',
        format: 'openapi',
        additionalProperties: false,
        oneOf: [{ required: ['url'] }, { required: ['schema'] }],
        properties: {
          url: { ...text('Where the document is, http or https.'), format: 'uri' },
          schema: {
            type: ['object', 'string'],
            description: 'The document itself: JSON, or its text in JSON or YAML.',
          },
          version: text('For people; the document’s own version counts.'),
          baseUrl: { ...text('The address of the API, instead of the document’s "servers".'), format: 'uri' },
          operations: {
            type: 'object',
            additionalProperties: false,
            description: 'Which operations become tools; by default all.',
            properties: {
              include: texts('operationId, tag, path or "METHOD /path"; "*" stands for any characters.'),
              exclude: texts('The same; wins over "include".'),
            },
          },
          auth: {
            description: 'By the name of the document’s security scheme; with a "type", one credential for all calls.',
            anyOf: [
              { ...credential, required: ['type'] },
              {
                type: 'object',
                additionalProperties: { anyOf: [{ type: 'string', maxLength: 8192 }, credential] },
              },
            ],
          },
        },
      },
    },
  },
  module: new URL('./transport.ts', import.meta.url).href,
}

/** HTTP APIs described by OpenAPI 3.0, 3.1 or Swagger 2.0. */
export default definePlugin({
  name: 'transport-openapi',
  contract: 1,
  setup(context) {
    context.contribute('transport', 'openapi', openapiTransport)
    return undefined
  },
})
