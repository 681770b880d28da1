/** What clients of a group may miss, or meet under another name than expected. */
export interface GroupWarning {
  readonly code:
    | 'server_deleted'
    | 'server_unseen'
    | 'server_lists'
    | 'tool_missing'
    | 'tools_need_asking'
    | 'one_connection_only'
    | 'names_collide'
    | 'approval_waits'
    | 'items_left_out'
    | 'tools_costly'
    | 'tool_costly'
  readonly message: string
  /** As its owner called it. */
  readonly server?: string
  /** Original names. */
  readonly tools?: readonly string[]
  /** What the message names besides, for translations by the code: texts and plain numbers. */
  readonly params?: Readonly<Record<string, string | number>>
}
