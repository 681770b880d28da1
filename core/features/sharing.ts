import type { GroupRecord, ServerRecord } from '../contract/records.ts'

declare module '../contract/events.ts' {
  interface PluginEvents {
    'share.changed': ShareChange
  }
}

declare module '../contract/plugin.ts' {
  interface RegistryView {
    /** True when sessions of this user under `/mcp` may use it: own, public and shared things. Administrators have no additional rights there. */
    mayUse(userId: string, thing: ServerRecord | GroupRecord): boolean
    /** True for the users who may use the server by itself, or by a group that brings it. */
    reachOf(server: ServerRecord): Promise<(userId: string) => boolean>
  }
}

/**
 * What somebody may do with a server or group has changed. Emitted for the owner, and for each user concerned.
 */
export type ShareChange = {
  kind: 'server' | 'group'
  /** Id of the server or group. */
  id: string
  /** `owner~name`. */
  ref: string
  /** `user:name` or `team:name`. */
  subject: string
  /** Null: it is no longer shared with the subject. */
  role: 'use' | 'see' | 'change' | null
}
