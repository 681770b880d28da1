import { defineTransport } from 'patchbay/transport-kit'
import { readConfig } from './config.ts'
import { OpenapiLink } from './link.ts'

/** An HTTP API whose operations are tools, as its OpenAPI document describes them. */
export default defineTransport({
  kind: 'answers',
  open: (config, io) => OpenapiLink.open(readConfig(config), io),
})
