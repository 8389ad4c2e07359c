import type { components } from "./schema";

type Schemas = components["schemas"];

export type Conversation = Schemas["ConversationOut"];
export type ListedConversation = Schemas["ListedConversation"];
export type ConversationPage = Schemas["ConversationPageOut"];
export type OpenedConversation = Schemas["OpenedConversation"];
export type Message = Schemas["MessageOut"];
export type MessagePage = Schemas["Messages"];
export type ToolCall = Schemas["ToolCallOut"];
export type MemoryUsed = Schemas["MemoryUsed"];
export type Usage = Schemas["UsageOut"];
export type UsageTotals = Schemas["UsageTotalsOut"];
export type ServerSettings = Schemas["SettingsOut"];
export type Durability = "durable" | "client" | "volatile";

/** The events of a chat turn, as the server names them. */
export type ChatEvent =
  | { event: "start"; conversation_id: string; session_id: string; message_id: string; memories_used: MemoryUsed[] }
  | { event: "delta"; text: string }
  | { event: "tool_call"; id: string; tool_name: string; input: unknown }
  | { event: "tool_result"; id: string; output: string }
  | { event: "saved"; durability: Durability; messages: { id: string; seq: number }[] }
  | { event: "error"; code: string; detail: string }
  | { event: "done"; status: "complete" | "interrupted" | "failed"; usage: Usage };
