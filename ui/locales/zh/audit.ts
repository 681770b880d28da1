/** Chinese texts of the audit, by their English. */
export const audit: Readonly<Record<string, string>> = {
  Export: '导出',
  User: '用户',
  'Deed, such as server.delete': '操作，例如 server.delete',
  'Nothing was recorded that matches': '没有匹配的记录',
  'Enter whole names, as they are in the list.': '名称需与列表中完全一致。',
  When: '时间',
  Who: '操作者',
  What: '操作',
  'From where': '来源地址',
  'To what': '对象',
  Details: '详情',
}
