// The numbers of DWARF that this reader needs, under their names in the standard.
// Source: DWARF 5, section 7; GNU extensions as in binutils' dwarf2.def.
#pragma once

#include <cstdint>

namespace vesta::dwarf {

inline constexpr uint16_t kTagArrayType = 0x01;
inline constexpr uint16_t kTagEnumerationType = 0x04;
inline constexpr uint16_t kTagCompileUnit = 0x11;
inline constexpr uint16_t kTagSubroutineType = 0x15;
inline constexpr uint16_t kTagInlinedSubroutine = 0x1d;
inline constexpr uint16_t kTagSubprogram = 0x2e;
inline constexpr uint16_t kTagPartialUnit = 0x3c;
inline constexpr uint16_t kTagTypeUnit = 0x41;
inline constexpr uint16_t kTagCallSite = 0x48;
inline constexpr uint16_t kTagSkeletonUnit = 0x4a;
inline constexpr uint16_t kTagGnuCallSite = 0x4109;

inline constexpr uint16_t kAtSibling = 0x01;
inline constexpr uint16_t kAtName = 0x03;
inline constexpr uint16_t kAtStmtList = 0x10;
inline constexpr uint16_t kAtLowPc = 0x11;
inline constexpr uint16_t kAtHighPc = 0x12;
inline constexpr uint16_t kAtLanguage = 0x13;
inline constexpr uint16_t kAtCompDir = 0x1b;
inline constexpr uint16_t kAtAbstractOrigin = 0x31;
inline constexpr uint16_t kAtDeclFile = 0x3a;
inline constexpr uint16_t kAtDeclLine = 0x3b;
inline constexpr uint16_t kAtSpecification = 0x47;
inline constexpr uint16_t kAtRanges = 0x55;
inline constexpr uint16_t kAtCallFile = 0x58;
inline constexpr uint16_t kAtCallLine = 0x59;
inline constexpr uint16_t kAtLinkageName = 0x6e;
inline constexpr uint16_t kAtStrOffsetsBase = 0x72;
inline constexpr uint16_t kAtAddrBase = 0x73;
inline constexpr uint16_t kAtRnglistsBase = 0x74;
inline constexpr uint16_t kAtDwoName = 0x76;
inline constexpr uint16_t kAtMipsLinkageName = 0x2007;
inline constexpr uint16_t kAtGnuDwoName = 0x2130;
inline constexpr uint16_t kAtGnuDwoId = 0x2131;
inline constexpr uint16_t kAtGnuRangesBase = 0x2132;
inline constexpr uint16_t kAtGnuAddrBase = 0x2133;

inline constexpr uint16_t kFormNone = 0;  // ours: a step that only skips
inline constexpr uint16_t kFormAddr = 0x01;
inline constexpr uint16_t kFormBlock2 = 0x03;
inline constexpr uint16_t kFormBlock4 = 0x04;
inline constexpr uint16_t kFormData2 = 0x05;
inline constexpr uint16_t kFormData4 = 0x06;
inline constexpr uint16_t kFormData8 = 0x07;
inline constexpr uint16_t kFormString = 0x08;
inline constexpr uint16_t kFormBlock = 0x09;
inline constexpr uint16_t kFormBlock1 = 0x0a;
inline constexpr uint16_t kFormData1 = 0x0b;
inline constexpr uint16_t kFormFlag = 0x0c;
inline constexpr uint16_t kFormSdata = 0x0d;
inline constexpr uint16_t kFormStrp = 0x0e;
inline constexpr uint16_t kFormUdata = 0x0f;
inline constexpr uint16_t kFormRefAddr = 0x10;
inline constexpr uint16_t kFormRef1 = 0x11;
inline constexpr uint16_t kFormRef2 = 0x12;
inline constexpr uint16_t kFormRef4 = 0x13;
inline constexpr uint16_t kFormRef8 = 0x14;
inline constexpr uint16_t kFormRefUdata = 0x15;
inline constexpr uint16_t kFormIndirect = 0x16;
inline constexpr uint16_t kFormSecOffset = 0x17;
inline constexpr uint16_t kFormExprloc = 0x18;
inline constexpr uint16_t kFormFlagPresent = 0x19;
inline constexpr uint16_t kFormStrx = 0x1a;
inline constexpr uint16_t kFormAddrx = 0x1b;
inline constexpr uint16_t kFormRefSup4 = 0x1c;
inline constexpr uint16_t kFormStrpSup = 0x1d;
inline constexpr uint16_t kFormData16 = 0x1e;
inline constexpr uint16_t kFormLineStrp = 0x1f;
inline constexpr uint16_t kFormRefSig8 = 0x20;
inline constexpr uint16_t kFormImplicitConst = 0x21;
inline constexpr uint16_t kFormLoclistx = 0x22;
inline constexpr uint16_t kFormRnglistx = 0x23;
inline constexpr uint16_t kFormRefSup8 = 0x24;
inline constexpr uint16_t kFormStrx1 = 0x25;
inline constexpr uint16_t kFormStrx2 = 0x26;
inline constexpr uint16_t kFormStrx3 = 0x27;
inline constexpr uint16_t kFormStrx4 = 0x28;
inline constexpr uint16_t kFormAddrx1 = 0x29;
inline constexpr uint16_t kFormAddrx2 = 0x2a;
inline constexpr uint16_t kFormAddrx3 = 0x2b;
inline constexpr uint16_t kFormAddrx4 = 0x2c;
inline constexpr uint16_t kFormGnuAddrIndex = 0x1f01;
inline constexpr uint16_t kFormGnuStrIndex = 0x1f02;
inline constexpr uint16_t kFormGnuRefAlt = 0x1f20;
inline constexpr uint16_t kFormGnuStrpAlt = 0x1f21;

inline constexpr uint8_t kUnitCompile = 0x01;
inline constexpr uint8_t kUnitType = 0x02;
inline constexpr uint8_t kUnitPartial = 0x03;
inline constexpr uint8_t kUnitSkeleton = 0x04;
inline constexpr uint8_t kUnitSplitCompile = 0x05;
inline constexpr uint8_t kUnitSplitType = 0x06;

inline constexpr uint8_t kRangeEndOfList = 0x00;
inline constexpr uint8_t kRangeBaseAddressx = 0x01;
inline constexpr uint8_t kRangeStartxEndx = 0x02;
inline constexpr uint8_t kRangeStartxLength = 0x03;
inline constexpr uint8_t kRangeOffsetPair = 0x04;
inline constexpr uint8_t kRangeBaseAddress = 0x05;
inline constexpr uint8_t kRangeStartEnd = 0x06;
inline constexpr uint8_t kRangeStartLength = 0x07;

inline constexpr uint8_t kLineExtended = 0;
inline constexpr uint8_t kLineCopy = 1;
inline constexpr uint8_t kLineAdvancePc = 2;
inline constexpr uint8_t kLineAdvanceLine = 3;
inline constexpr uint8_t kLineSetFile = 4;
inline constexpr uint8_t kLineSetColumn = 5;
inline constexpr uint8_t kLineNegateStmt = 6;
inline constexpr uint8_t kLineSetBasicBlock = 7;
inline constexpr uint8_t kLineConstAddPc = 8;
inline constexpr uint8_t kLineFixedAdvancePc = 9;
inline constexpr uint8_t kLineSetPrologueEnd = 10;
inline constexpr uint8_t kLineSetEpilogueBegin = 11;
inline constexpr uint8_t kLineSetIsa = 12;
inline constexpr uint8_t kLineEndSequence = 1;
inline constexpr uint8_t kLineSetAddress = 2;
inline constexpr uint8_t kLineDefineFile = 3;

inline constexpr uint16_t kContentPath = 1;
inline constexpr uint16_t kContentDirectoryIndex = 2;

}  // namespace vesta::dwarf
