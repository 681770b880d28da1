import type { JsonObject, JsonValue } from '../contract/json.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    serverTemplates: ServerTemplates
  }
}

/** The form of the templates that a plugin's servers follow. The hub stores them, and takes them along in exports. */
export interface ServerTemplates {
  /** The field `template` of a server's record. */
  view(template: JsonObject): JsonObject
  /** The template of a server from another hub; undefined when it is not valid. */
  check(given: JsonValue | undefined): JsonObject | undefined
}
